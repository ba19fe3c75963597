#ifndef VITRINE_BRIDGE_H
#define VITRINE_BRIDGE_H

#include <stddef.h>
#include <stdint.h>

/* The C interface of the Rust libraries that Vitrine uses. No panic and no exception crosses it: every function answers
 * with a status. Text is UTF-8, given by pointer and size; a null pointer is allowed where the size is 0. */

#ifdef __cplusplus
extern "C" {
#endif

typedef enum VitrineStatus {
  VITRINE_OK = 0,
  VITRINE_BAD_INPUT = 1, /* an argument is no UTF-8, no JSON object or too deep */
  VITRINE_SYNTAX = 2,    /* the template does not compile */
  VITRINE_RENDER = 3,    /* the template raised an error, or did what it must not */
  VITRINE_LIMIT = 4,     /* a limit of VitrineTemplateLimits was reached */
  VITRINE_PANIC = 5      /* a bug on the Rust side */
} VitrineStatus;

/* Bytes that the library owns until vitrine_bytes_free. data is never null after a call that fills it. */
typedef struct VitrineBytes {
  char* data;
  size_t size;
  size_t capacity;
} VitrineBytes;

/* Frees the bytes and sets the struct to {0, 0, 0}. Freeing an empty struct is allowed. */
void vitrine_bytes_free(VitrineBytes* bytes);

/* ---- Chat templates: Jinja as the transformers library runs it ---- */

typedef struct VitrineTemplate VitrineTemplate;

typedef struct VitrineTemplateLimits {
  uint64_t steps;      /* instructions; 64 bytes of text made cost as much as one */
  uint32_t depth;      /* macro calls inside each other */
  size_t source_bytes; /* of the template */
  size_t output_bytes; /* of the rendered text */
} VitrineTemplateLimits;

/* The time that strftime_now sees: wall-clock fields without a zone. month and day count from 1. */
typedef struct VitrineTime {
  int32_t year, month, day, hour, minute, second;
} VitrineTime;

/* Compiles a template. On VITRINE_OK *compiled owns it (free with vitrine_template_free) and *error is empty; else
 * *compiled is null and *error holds a one-line message. */
VitrineStatus vitrine_template_compile(const char* source, size_t source_size, const VitrineTemplateLimits* limits,
                                       VitrineTemplate** compiled, VitrineBytes* error);

/* Renders with the members of a JSON object as variables (their order is kept). *output holds the text on VITRINE_OK,
 * else a one-line message. May be called from several threads at once on one template. */
VitrineStatus vitrine_template_render(const VitrineTemplate* compiled, const char* variables, size_t variables_size,
                                      const VitrineTime* now, VitrineBytes* output);

/* A null pointer is allowed. */
void vitrine_template_free(VitrineTemplate* compiled);

#ifdef __cplusplus
}
#endif

#endif
