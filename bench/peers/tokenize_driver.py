"""Encoding speed of a Python package, in an environment that has it: tokenize_driver.py PACKAGE VOCABULARY TEXT...

Prints {"texts": [{"mb_per_s", "tokens"}]}: megabytes of text per second of CPU time, the median of five runs on one
thread, as bench/encode measures it.
"""
import json
import os
import pathlib
import statistics
import sys
import time

NUM_RUNS = 5


def tiktoken_encoder(path):
    """The published encoding of the file's name, made of the file: the package's own download is not needed."""
    import tiktoken
    import tiktoken.load
    from tiktoken_ext import openai_public

    ranks = tiktoken.load.load_tiktoken_bpe(str(path))
    openai_public.load_tiktoken_bpe = lambda *_words, **_options: ranks
    encoding = tiktoken.Encoding(**openai_public.ENCODING_CONSTRUCTORS[path.stem]())
    return encoding.encode_ordinary


def tokenizers_encoder(path):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    return lambda text: tokenizer.encode(text, add_special_tokens=False).ids


def measure(encode, text):
    num_bytes, seconds, num_tokens = len(text.encode()), [], 0
    for _ in range(NUM_RUNS):
        start = time.thread_time()
        num_tokens = len(encode(text))
        seconds.append(time.thread_time() - start)
    return {"mb_per_s": num_bytes / 1e6 / statistics.median(seconds), "tokens": num_tokens}


def main():
    package, vocabulary, *texts = sys.argv[1:]
    make = {"tiktoken": tiktoken_encoder, "tokenizers": tokenizers_encoder}[package]
    encode = make(pathlib.Path(vocabulary))
    rows = [measure(encode, pathlib.Path(text).read_bytes().decode()) for text in texts]
    print(json.dumps({"texts": rows}))


if __name__ == "__main__":
    main()
