#include <array>

#include "vitrine/command.h"
#include "vitrine/commands/commands.h"

namespace vitrine::cli {
namespace {

// name, group, one-line help, two examples, maker
constexpr std::array kCommands = {
    CommandEntry{"run", "Answers", "Complete a text", "vitrine run smollm2-135m-instruct \"The KV cache is\" -n 40",
                 "echo \"Once upon a time\" | vitrine run ./model.gguf --temperature 0 --stats", make_run},
    CommandEntry{"chat", "Answers", "Talk with a model, or ask it once",
                 "vitrine chat \"Explain the KV cache in three sentences.\"",
                 "vitrine chat qwen3-0.6b --system \"Answer in one sentence.\"", make_chat},
    CommandEntry{"serve", "Answers", "Serve a model over an OpenAI-compatible API",
                 "vitrine serve smollm2-135m-instruct", "vitrine serve ./model.gguf --port 9000 --alias gpt-4o-mini",
                 make_serve},
    CommandEntry{"keys", "Answers", "Make, list, limit, rotate and revoke the API keys of the server",
                 "vitrine keys create laptop",
                 "vitrine keys limits 3k9x0f2a --requests-per-minute 60 --tokens-per-day none", make_keys},
    CommandEntry{"usage", "Answers", "Show what the clients of the server have used, and what it costs",
                 "vitrine usage", "vitrine usage --by day --from 2025-03-01 --key 3k9x0f2a --csv", make_usage},
    CommandEntry{"explain", "Answers", "Show the whole life of a request: tokens, layers, choices, memory",
                 "vitrine explain \"The KV cache is\" --attention 16,4",
                 "vitrine explain --request req-1f0c5b1e --url http://127.0.0.1:8080 --html request.html",
                 make_explain},
    CommandEntry{"trace", "Answers", "Show where the time of a request goes, or what every layer gives",
                 "vitrine trace smollm2-135m-instruct \"Hello, world\"",
                 "vitrine trace ./model.gguf --ids 1,2,3 --dump values --chrome trace.json", make_trace},
    CommandEntry{"pull", "Models", "Fetch a model, or list what fits this machine",
                 "vitrine pull smollm2-135m-instruct", "vitrine pull hf:Qwen/Qwen3-0.6B-GGUF", make_pull},
    CommandEntry{"list", "Models", "List the models on disk", "vitrine list", "vitrine list --json", make_list},
    CommandEntry{"show", "Models", "Show what is inside a model file", "vitrine show smollm2-135m-instruct",
                 "vitrine show ./model.gguf --json", make_show},
    CommandEntry{"plan", "Models", "Forecast the memory and speed of a model, or of a known shape, on this machine",
                 "vitrine plan smollm2-135m-instruct --context 2048,8192 --batch 1,8",
                 "vitrine plan llama-3.1-8b --context 131072 --kv-type f16,q8_0 --html plan.html", make_plan},
    CommandEntry{"rm", "Models", "Remove a model from disk", "vitrine rm gemma-3-270m", "vitrine rm gemma-3-270m --yes",
                 make_rm},
    CommandEntry{
        "template", "Text", "Render a chat template", "vitrine template smollm2-135m-instruct --messages chat.json",
        "vitrine template ./chat_template.jinja --messages chat.json --tools tools.json --json", make_template},
    CommandEntry{"tokenize", "Text", "Show the tokens of a text",
                 "vitrine tokenize smollm2-135m-instruct \"Hello, world\"",
                 "cat notes.txt | vitrine tokenize ./model.gguf --ids", make_tokenize},
    CommandEntry{"detokenize", "Text", "Turn token ids back into text",
                 "vitrine detokenize smollm2-135m-instruct 19556,28,905",
                 "vitrine detokenize ./model.gguf --jsonl < ids.jsonl", make_detokenize},
    CommandEntry{"count", "Text", "Count the tokens of a text for one or more models",
                 "vitrine count smollm2-135m-instruct \"Hello, world\"",
                 "vitrine count -m smollm2-135m-instruct -m gemma-3-270m --file notes.txt", make_count},
    CommandEntry{"compare", "Text", "Compare the tokens that several tokenizers make of a text",
                 "vitrine compare \"Hello, 世界\" --tokenizers tok:tiktoken_cl100k_base,tok:deepseek_v3",
                 "vitrine compare --file notes.txt --price 2.5", make_compare},
    CommandEntry{"cost", "Text", "What a prompt costs: a call, a day, a month",
                 "vitrine cost \"Hello, world\" --models gpt-4o,deepseek-chat --output-tokens 300",
                 "vitrine cost --file prompt.txt --prices prices.toml --cached-percent 80 --calls 20000", make_cost},
    CommandEntry{"train-bpe", "Text", "Train a byte-level BPE tokenizer on text files",
                 "vitrine train-bpe notes.txt --vocab 8192 --out my-tokenizer",
                 "vitrine train-bpe src/*.cpp --vocab 32768 --special \"<|endoftext|>\" --splitter llama3 --out code",
                 make_train_bpe},
    CommandEntry{"bench", "Measuring", "Measure speed: of a model, of this machine, of an endpoint",
                 "vitrine bench model smollm2-135m-instruct -p 512 -n 128 --batch 1,16",
                 "vitrine bench serve http://127.0.0.1:8080/v1 --model smollm2-135m-instruct --concurrency 1,8,32",
                 make_bench},
    CommandEntry{"doctor", "Measuring", "Check this machine, a model or a server, and say what to do",
                 "vitrine doctor smollm2-135m-instruct", "vitrine doctor http://127.0.0.1:8080/v1 --api-key KEY",
                 make_doctor},
    CommandEntry{"lab", "Measuring", "Measure what articles only tell: the KV cache, batching, paging and more",
                 "vitrine lab kv-cache", "vitrine lab all smollm2-135m-instruct --out labs", make_lab},
    CommandEntry{"synth", "Measuring", "Write a model of random weights in a known shape, to measure speed with",
                 "vitrine synth --shape llama-3.2-1b --type q4_k_m -o synth.gguf",
                 "vitrine synth --shape tiny-moe --type q8_0 --seed 7 -o tiny.gguf --json", make_synth},
    CommandEntry{"completion", "Shell", "Print the completion script of a shell", "source <(vitrine completion bash)",
                 "vitrine completion fish > ~/.config/fish/completions/vitrine.fish", make_completion},
};

}  // namespace

std::span<const CommandEntry> command_table() {
  return kCommands;
}

}  // namespace vitrine::cli
