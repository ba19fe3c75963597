#!/usr/bin/env python3
"""Writes tests/data/tokenizers/components.json: small tokenizers of every component that a tokenizer.json may name, and
small SentencePiece models, with what their own engines make of texts and of ids.

usage: scripts/make_tokenizer_components.py [--texts N] [--seed S] > tests/data/tokenizers/components.json
       (needs the Python packages `tokenizers` and `sentencepiece`)

With a large N the file is for a check by hand: VITRINE_COMPONENTS=FILE build/release/tests/tokenizer/tokenizer_test
--gtest_filter='Components*'.
"""
import argparse
import base64
import json
import os
import random
import sys
import tempfile

import sentencepiece
import tokenizers
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

CORPUS = [
    "the quick brown fox jumps over the lazy dog. the dog sleeps, doesn't it?",
    "hello world, hello there; do not worry: it's 2024 and 1234567 reasons remain!",
    "lower lowest newer newest wider widest low new wide",
    "大语言模型改变了开发者的工作方式。模型 读 词元，不是字母。",
    "東京タワーへ行きました。ひらがなとカタカナ。",
    "café naïve résumé über Ångström façade",
    "привет мир, как дела? γειά σου κόσμε",
    "if (x < 10) { return a[i] + b_c; }\n\tfor (;;) {}\r\n",
]
PARTS = [
    "the", "quick", "fox", "dog", "low", "lower", "newest", "hello", "world", "don't", "it's", "HelloWorld", "ABc", "a",
    "x", "z", "_", "|", "12", "2024", "1234567", "٣", "²", "½", " ", " ", " ", " ", "  ", "   ", "\n", "\r\n", "\t", "\u00a0",
    "\u3000", "\u2028", "\u200b", "\u200d", "\ufeff", "\u2581", "\x07", "\x7f", "\x8f", "\x00", ".", ",", "!", "?", "'s", " ' ",
    "--", "(", ")", "[", "，", "。", "…", "大", "语言", "模型", "东京", "東京", "タワー", "ー", "ひらがな", "한국어", "ก็", "é", "e\u0301",
    "ñ", "ü", "Å", "ß", "İ", "привет", "κόσμε", "שלום", "مرحبا", "हिन्दी", "😀", "👩‍👩‍👧", "🇨🇳", "🏽", "<s>", "</s>", "</w>",
    "##", "<unk>", "<0x41>", "\ufffd", "Ġ", "é" * 3, "\U00020000",
]


def random_text(rng):
    return "".join(rng.choice(PARTS) for _ in range(rng.randint(0, 12)))


def make(model, normalizer=None, pre=None, decoder=None, post=None, special=("<s>", "</s>")):
    tokenizer = Tokenizer(model)
    for name, part in (("normalizer", normalizer), ("pre_tokenizer", pre), ("decoder", decoder),
                       ("post_processor", post)):
        if part is not None:
            setattr(tokenizer, name, part)
    tokenizer.add_special_tokens(list(special))
    return tokenizer


def trained(trainer, model, **parts):
    tokenizer = make(model, special=(), **parts)
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens(["<s>", "</s>"])
    return tokenizer


def bpe(size=300, fuse=False, byte_fallback=False, prefix=None, suffix=None, alphabet=(), **parts):
    affixes = {name: value for name, value in (("continuing_subword_prefix", prefix), ("end_of_word_suffix", suffix))
               if value}
    special = ["<unk>"] + ([f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else [])
    trainer = trainers.BpeTrainer(vocab_size=size + len(special), special_tokens=special, show_progress=False,
                                  initial_alphabet=list(alphabet), **affixes)
    model = models.BPE(unk_token="<unk>", fuse_unk=fuse, byte_fallback=byte_fallback, **affixes)
    tokenizer = trained(trainer, model, **parts)
    if not byte_fallback:
        return tokenizer
    # The tokens of bytes belong to the model alone.
    source = json.loads(tokenizer.to_str())
    source["added_tokens"] = [token for token in source["added_tokens"] if not token["content"].startswith("<0x")]
    return Tokenizer.from_str(json.dumps(source))


def unigram(**parts):
    trainer = trainers.UnigramTrainer(vocab_size=220, unk_token="<unk>", special_tokens=["<unk>"], show_progress=False)
    return trained(trainer, models.Unigram(), **parts)


def wordpiece(**parts):
    trainer = trainers.WordPieceTrainer(vocab_size=300, special_tokens=["[UNK]"], show_progress=False)
    return trained(trainer, models.WordPiece(unk_token="[UNK]"), **parts)


def wordlevel(**parts):
    trainer = trainers.WordLevelTrainer(vocab_size=200, special_tokens=["<unk>"], show_progress=False)
    return trained(trainer, models.WordLevel(unk_token="<unk>"), **parts)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def pieces(*texts):
    return make(models.WordLevel({text: i for i, text in enumerate(("<unk>",) + texts)}, "<unk>"), special=["<s>"])


def with_decoder(tokenizer, *steps):
    tokenizer.decoder = steps[0] if len(steps) == 1 else decoders.Sequence(list(steps))
    return tokenizer


DECODED = ("low", "er</w>", "</w>", "a</w>b</w>", "▁▁", "▁the", "▁", "of▁", " ", "  a ", " b", "c  ", "##ing", "do", " not", ".",
           " n't", "'s", "<pad>", "|", "h", "e", "l|l", "x<pad>y", "é", "中", "文", "😀", "e\u0301", "<0x41>", "<0xE4>", "<0xb8>",
           "<0xAD>", "<0xFF>", "<0x20>", "Ġlow", "Ã", "©", "Ċ", "ä¸", "Ń", "xx", "axxb", "\n", "ab\ncd")


def decoder_chains():
    d = decoders
    strip = d.Strip(" ", 1, 0)
    return {
        "none": [],
        "bpe": [d.BPEDecoder()],
        "ctc": [d.CTC()],
        "ctc_bare": [d.CTC("<pad>", "|", False)],
        "strip_each": [d.Strip(" ", 1, 0)],
        "strip_each_end": [d.Strip(" ", 0, 2)],
        "fuse_strip_both": [d.Fuse(), d.Strip(" ", 2, 0), d.Strip(" ", 0, 2)],
        "replace_regex": [d.Replace(Regex("x+"), "-")],
        "replace_lines": [d.Replace(Regex("^"), ">")],
        "replace_empty": [d.Replace("", "-")],
        "fuse_replace": [d.Fuse(), d.Replace("ab", "BA"), d.Replace("</w>", " ")],
        "fuse_replace_regex": [d.Fuse(), d.Replace(Regex("x+"), "-"), strip],
        "metaspace": [d.Metaspace()],
        "metaspace_first": [d.Metaspace("▁", "first")],
        "metaspace_never": [d.Metaspace("▁", "never")],
        "fuse_metaspace": [d.Fuse(), d.Metaspace()],
        "wordpiece": [d.WordPiece()],
        "wordpiece_bare": [d.WordPiece("##", False)],
        "fuse_wordpiece": [d.Fuse(), d.WordPiece()],
        "byte_level": [d.ByteLevel()],
        "byte_level_strip": [d.ByteLevel(), strip],
        "replace_byte_level": [d.Replace("▁", "Ġ"), d.ByteLevel()],
        "byte_level_byte_level": [d.ByteLevel(), d.ByteLevel()],
        "byte_fallback": [d.ByteFallback()],
        "byte_fallback_strip": [d.ByteFallback(), d.Strip(" ", 1, 0)],
        "llama": [d.Replace("▁", " "), d.ByteFallback(), d.Fuse(), strip],
        "byte_fallback_metaspace": [d.ByteFallback(), d.Metaspace()],
        "byte_fallback_wordpiece": [d.ByteFallback(), d.WordPiece()],
        "fuse_bpe": [d.Fuse(), d.BPEDecoder()],
        "bpe_strip": [d.BPEDecoder(), d.Strip(" ", 1, 0)],
        "ctc_wordpiece": [d.CTC(), d.WordPiece()],
        "nested": [d.Sequence([d.Fuse(), d.Replace("▁", " ")]), strip],
    }


def encoding_tokenizers():
    """By name: a tokenizer, and whether its offsets are ours (not where text is put in or bytes are cut apart)."""
    n, p, d = normalizers, pre_tokenizers, decoders
    byte_alphabet = p.ByteLevel.alphabet()
    spaces = p.WhitespaceSplit()
    eow = d.BPEDecoder()
    spelled = p.ByteLevel(add_prefix_space=False)
    return {
        "nmt": (bpe(normalizer=n.Nmt(), pre=spaces), True),
        "byte_level_normalizer": (bpe(normalizer=n.ByteLevel(), alphabet=byte_alphabet, decoder=d.ByteLevel()), False),
        "nfc_byte_level_normalizer": (bpe(normalizer=n.Sequence([n.NFC(), n.ByteLevel()]), alphabet=byte_alphabet,
                                          decoder=d.ByteLevel()), False),
        "char_delimiter": (bpe(pre=p.CharDelimiterSplit("_"), fuse=True), True),
        "unicode_scripts": (bpe(pre=p.UnicodeScripts()), True),
        "unicode_scripts_unigram": (unigram(pre=p.Sequence([p.UnicodeScripts(), spaces])), True),
        "fixed_length": (bpe(pre=p.FixedLength(3)), True),
        "fixed_length_words": (wordlevel(pre=p.FixedLength(2)), True),
        "behind_byte_level": (bpe(pre=p.Sequence([spelled, p.Punctuation(), p.Digits(True)]), alphabet=byte_alphabet,
                                  decoder=d.ByteLevel()), False),
        "byte_level_twice": (bpe(pre=p.Sequence([spelled, spelled]), alphabet=byte_alphabet,
                                 decoder=d.Sequence([d.ByteLevel(), d.ByteLevel()])), False),
        "byte_level_prefix": (bpe(pre=p.ByteLevel(add_prefix_space=True), alphabet=byte_alphabet,
                                  decoder=d.ByteLevel()), False),
        "byte_level_fallback": (bpe(pre=spelled, byte_fallback=True, decoder=d.ByteLevel()), False),
        "byte_level_unigram": (unigram(pre=spelled, decoder=d.ByteLevel()), False),
        "byte_level_wordpiece": (wordpiece(pre=spelled, decoder=d.Sequence([d.WordPiece(), d.ByteLevel()])), False),
        "byte_level_words": (wordlevel(pre=p.ByteLevel(), decoder=d.ByteLevel()), False),
        "byte_level_suffix": (bpe(pre=spelled, suffix="</w>", alphabet=byte_alphabet,
                                  decoder=d.Sequence([d.Replace("</w>", ""), d.ByteLevel()])), False),
        "words": (wordlevel(pre=p.Whitespace()), True),
        "words_lower": (wordlevel(normalizer=n.Lowercase(), pre=p.Sequence([spaces, p.Punctuation()])), True),
        "bpe_suffix": (bpe(suffix="</w>", pre=spaces, decoder=eow), True),
        "bpe_suffix_fused": (bpe(suffix="</w>", pre=p.Whitespace(), decoder=eow, fuse=True), True),
        "bpe_prefix": (bpe(prefix="##", pre=spaces, decoder=d.WordPiece()), True),
        "bpe_prefix_suffix": (bpe(prefix="@@", suffix="</w>", pre=spaces, decoder=d.Sequence(
            [d.Replace("@@", ""), eow])), True),
        "bpe_suffix_fallback": (bpe(suffix="</w>", byte_fallback=True, pre=spaces, decoder=d.Sequence(
            [d.ByteFallback(), eow])), False),
        "bpe_suffix_whole": (bpe(suffix="</w>", decoder=eow), True),
        "split_look_ahead": (bpe(pre=split("(?=[A-Z])"), fuse=True), True),
        "split_thousands": (bpe(pre=p.Sequence([split(r"\p{N}+"), split(r"(?=(\d{3})+(?!\d))")])), True),
        "split_empty_next": (bpe(pre=split("x*", "merged_with_next")), True),
        "split_empty_previous": (bpe(pre=split("x*", "merged_with_previous")), True),
        "split_empty_contiguous": (bpe(pre=split("x*", "contiguous")), True),
        "split_empty_inverted": (bpe(pre=split("x*", "merged_with_next", True)), True),
        "split_empty_text": (bpe(pre=p.Split("", "isolated")), True),
        "split_nested_class": (bpe(pre=split(r" ?[^(\s|[.,!?…。，、।۔،])]+")), True),
        "split_intersection": (bpe(pre=split(r"[\p{L}&&[^\p{Han}]]+|\p{Han}+|[^\p{L}&&\S]")), True),
        "split_repeated_interval": (bpe(pre=split(r"\p{N}{1,3}+|\p{L}{2}+|\h{,2}")), True),
        "split_lines": (bpe(pre=split(r"^.|\s+$|(?m:x.)", "removed")), True),
        "replace_anchors": (bpe(normalizer=n.Sequence([n.Replace(Regex("^"), ">"), n.Replace(Regex("$"), "<")])), False),
        "template": (bpe(pre=spaces, post=processors.TemplateProcessing(
            single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 301), ("</s>", 300)])), True),
    }


def byte_offsets(text, offsets):
    starts = [0]
    for character in text:
        starts.append(starts[-1] + len(character.encode()))
    return [[starts[begin], starts[end]] for begin, end in offsets]


def decoded(tokenizer, ids, skip):
    try:
        return tokenizer.decode(ids, skip_special_tokens=skip)
    except BaseException:  # Strip panics on a piece that it strips from both ends
        return None


def file_of(tokenizer, texts, id_lists, has_offsets):
    cases = []
    for text in texts:
        encoding = tokenizer.encode(text, add_special_tokens=True)
        offsets = byte_offsets(text, encoding.offsets) if has_offsets else None
        cases.append([text, encoding.ids, offsets])
        id_lists.append(encoding.ids)
    decodes = []
    for ids in id_lists:
        row = [ids, decoded(tokenizer, ids, False), decoded(tokenizer, ids, True)]
        if None not in row:
            decodes.append(row)
    return {"tokenizer": json.loads(tokenizer.to_str()), "cases": cases, "decodes": decodes}


def random_ids(rng, count, size):
    return [[rng.randrange(size) for _ in range(rng.randint(0, 9))] for _ in range(count)]


def sentencepiece_models(folder, texts, rng):
    corpus = os.path.join(folder, "corpus.txt")
    with open(corpus, "w", encoding="utf-8") as out:
        out.write("\n".join(line.replace("\n", " ") for line in CORPUS * 4))
    for kind, size in (("word", 60), ("char", 80), ("bpe", 200), ("unigram", 180)):
        for name, options in (("", {}), ("_suffix", {"treat_whitespace_as_suffix": True}),
                              ("_bare", {"add_dummy_prefix": False, "remove_extra_whitespaces": False}),
                              ("_spaces", {"remove_extra_whitespaces": False}),
                              ("_bytes_suffix", {"treat_whitespace_as_suffix": True, "byte_fallback": True})):
            if options.get("byte_fallback") and kind in ("word", "char"):
                continue
            extra = 256 if options.get("byte_fallback") else 0
            prefix = os.path.join(folder, kind + name)
            sentencepiece.SentencePieceTrainer.train(
                input=corpus, model_prefix=prefix, model_type=kind, vocab_size=size + extra, hard_vocab_limit=False,
                user_defined_symbols=["<x>", "lo"], minloglevel=2, normalization_rule_name="identity", **options)
            engine = sentencepiece.SentencePieceProcessor(model_file=prefix + ".model")
            cases, decodes = [], []
            id_lists = random_ids(rng, len(texts) // 2, engine.get_piece_size())
            for text in texts:
                ids = engine.encode(text)
                cases.append([text, ids, None])
                id_lists.append(ids)
            for ids in id_lists:
                if not any(engine.is_control(i) for i in ids):
                    decodes.append([ids, engine.decode(ids), None])
            with open(prefix + ".model", "rb") as model:
                yield "sentencepiece_" + kind + name, {"model": base64.b64encode(model.read()).decode(),
                                                       "cases": cases, "decodes": decodes}


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--texts", type=int, default=4)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    rng = random.Random(options.seed)
    fixed = ["", " ", "the quick Fox", "大语言模型 low", "é e\u0301 😀\r\n", "<s>lower</s>  x"]
    result = {"made_with": {"tokenizers": tokenizers.__version__, "sentencepiece": sentencepiece.__version__}}
    files = result["files"] = {}
    for name, (tokenizer, has_offsets) in encoding_tokenizers().items():
        texts = fixed + [random_text(rng) for _ in range(options.texts)]
        ids = random_ids(rng, options.texts, tokenizer.get_vocab_size())
        files[name] = file_of(tokenizer, texts, ids, has_offsets)
    for name, steps in decoder_chains().items():
        tokenizer = pieces(*DECODED)
        if steps:
            tokenizer = with_decoder(tokenizer, *steps)
        files["decoder_" + name] = file_of(tokenizer, [], random_ids(rng, 3 * options.texts, tokenizer.get_vocab_size()),
                                           False)
    with tempfile.TemporaryDirectory() as folder:
        texts = [text.replace("\u0000", "") for text in
                 fixed + ["lo<x>the lo", "  a  b "] + [random_text(rng) for _ in range(options.texts)]]
        files.update(sentencepiece_models(folder, texts, rng))
    json.dump(result, sys.stdout, ensure_ascii=False, separators=(",", ":"))
    print()


main()
