"""Loading: every kind of file, every way a file can be bad, and folders of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from file_kinds import make
from hypothesis import given, settings
from hypothesis import strategies as st
from rota import tries

from rag_pg.errors import InvalidInput, UnsupportedFile
from rag_pg.load.decode import decode_text
from rag_pg.load.discover import find_files
from rag_pg.load.files import load_documents, load_file
from rag_pg.load.front_matter import split_front_matter
from rag_pg.load.html import html_to_markdown
from rag_pg.text.clean import clean_text
from rag_pg.types import Loaded


def load(folder: Path, name: str, data: bytes | str) -> Loaded:
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return load_file(path, f"docs/{name}")


# --- text ----------------------------------------------------------------------------------------


@given(st.text())
def test_clean_text_leaves_what_utf8_can_hold_and_counts_the_rest(text: str) -> None:
    clean, removed = clean_text(text)
    assert "\x00" not in clean
    clean.encode("utf-8")
    assert len(clean) + removed == len(text)


def test_clean_text_removes_nul_and_lone_surrogates() -> None:
    assert clean_text("a\x00b\ud800c\udfff👩‍👧") == ("abc👩‍👧", 3)


@pytest.mark.parametrize(
    ("data", "content", "removed"),
    [
        ("Grüße, 数据库 👩‍👧", "Grüße, 数据库 👩‍👧", 0),
        (b"\xef\xbb\xbfwith a mark", "with a mark", 0),
        ("Grüße".encode("utf-16"), "Grüße", 0),
        (b"\xfe\xff" + "Grüße".encode("utf-16-be"), "Grüße", 0),
        ("Grüße".encode("utf-32"), "Grüße", 0),
        (b"one\r\ntwo\rthree\n", "one\ntwo\nthree\n", 0),
        (b"stray \x00NUL", "stray NUL", 1),
        (b"half \xf0\x9f\x91 an emoji", "half \ufffd an emoji", 0),
        (b"a surrogate \xed\xa0\x80 in UTF-8", "a surrogate \ufffd\ufffd\ufffd in UTF-8", 0),
        (b"\x1b[1mcoloured\x1b[0m", "\x1b[1mcoloured\x1b[0m", 0),
    ],
)
def test_text_is_decoded_and_what_is_taken_out_is_counted(
    tmp_path: Path, data: bytes | str, content: str, removed: int
) -> None:
    loaded = load(tmp_path, "a.txt", data)
    assert (loaded.content, loaded.removed) == (content, removed)
    assert (loaded.uri, loaded.title, loaded.media_type) == ("docs/a.txt", "a", "text/plain")
    assert loaded.metadata == {}


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("latin-1", "Jörg;Köln"),
        ("cp1252", "name;ort\nJörg;Köln\nMüller;Düsseldorf"),
        ("cp1252", "naïve café “quoted” – that’s 5 €"),
        ("cp1250", "Zażółć gęślą jaźń, proszę. Źdźbło trawy na łące, później świeże źródło."),
        ("cp1251", "Привет, мир. Это простой текст на русском языке."),
        ("koi8_r", "Отпуск\nКаждый имеет право на отпуск; подаётся заявление."),
        ("koi8_u", "Відпустка\nЇї гаслом є єдність; ґанок пофарбовано."),
        ("cp1251", "Сотрудник имеет право на отпуск. МОСКВА, объект 5"),
        ("cp932", "ﾔﾏﾀﾞ ﾀﾛｳ 12345 ﾄｳｷﾖｳﾎﾝﾃﾝ ﾌﾂｳ ｽｽﾞｷ"),
        ("cp1253", "Καλημέρα κόσμε, αυτό είναι ένα κείμενο."),
        ("shift_jis", "これは日本語の文章です。東京に行きます。"),
        ("gb18030", "这是一个中文句子，用来测试编码。"),
        ("euc_kr", "이것은 한국어 문장입니다."),
        ("iso2022_jp", "これは日本語の文章です。東京に行きます。"),
        ("iso2022_jp_ext", "ﾔﾏﾀﾞさんの文章です。"),
        ("iso2022_kr", "이것은 한국어 문장입니다."),
        ("hz", "数据库 PC电脑 ~ 好的"),
        ("utf-7", "Größe: 1 + 1 € – it’s all 😀."),
        ("utf-7", "これは日本語の文章です。A社に行きます。"),
        ("utf-7", "Привет, мир."),
        ("utf-16-le", "Größe: 5 € – it’s all 😀."),
        ("utf-16-be", "Größe: 5 € – it’s all 😀."),
        ("utf-16-le", "一、これは日本語の文章です。\n二、東京に行きます。\n" * 3),
        ("utf-16-be", "一、これは日本語の文章です。\n二、東京に行きます。\n" * 3),
        ("utf-16-be", "Привет, мир. Это простой текст."),
        ("utf-32-le", "Grüße, 数据库 👩‍👧"),
        ("utf-32-be", "Grüße, 数据库 👩‍👧"),
    ],
)
def test_another_encoding_is_detected_and_named(tmp_path: Path, encoding: str, text: str) -> None:
    loaded = load(tmp_path, "a.txt", text.encode(encoding))
    assert (loaded.content, loaded.removed) == (text, 0)
    (note,) = loaded.notes
    assert "is not UTF-8 and was read as" in note


@pytest.mark.parametrize(
    "text", ["x = 1+APY-2", "q=a+b+c-d", "MIIB+abcd/efg==", "~{name}~", "+ACE-7"]
)
def test_a_sign_that_could_begin_letters_is_left_in_ascii(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path, "a.txt", text.encode())
    assert (loaded.content, loaded.notes) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "Write to user+tag@example.com",
        "Call +4930-1234, +foo or me+b",
        "+import os\n+ABC-1",
        "C++-17 and i+-1",
        "~/a ~{ab~}",
    ],
)
def test_signs_of_ascii_are_no_other_encoding(tmp_path: Path, text: str) -> None:
    loaded = load(tmp_path, "a.txt", text.encode())
    assert (loaded.content, loaded.notes) == (text, ())


def test_signs_that_windows_adds_to_japanese_mails_are_read(tmp_path: Path) -> None:
    loaded = load(tmp_path, "a.txt", b"\x1b$B-!$3$l$O\x1b(B")
    assert loaded.content == "①これは"


def test_text_of_an_old_encoding_is_not_taken_for_windows(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedFile, match="is not UTF-8"):
        load(tmp_path, "a.txt", "Größe".encode("cp850"))


def test_the_encoding_of_records_is_named_once(tmp_path: Path) -> None:
    rows = '{"uri": "a", "content": "Jörg"}\n{"uri": "b", "content": "Käthe"}\n'
    (tmp_path / "r.jsonl").write_bytes(rows.encode("cp1252"))
    read = list(load_documents(tmp_path / "r.jsonl", "r.jsonl"))
    assert [loaded.content for loaded in read if isinstance(loaded, Loaded)] == ["Jörg", "Käthe"]
    assert [len(loaded.notes) for loaded in read if isinstance(loaded, Loaded)] == [1, 0]


@given(text=st.text(st.characters(codec="cp1252"), min_size=1), data=st.data())
def test_no_letter_of_a_file_vanishes(text: str, data: st.DataObject) -> None:
    """Whatever encoding is taken: a character for each that went in, or the file is refused."""
    encoding = data.draw(st.sampled_from(["utf-8", "cp1252", "latin-1", "utf-16", "iso8859-15"]))
    try:
        raw = text.encode(encoding)
        decoded = decode_text(raw)
    except (UnicodeEncodeError, UnsupportedFile):
        return
    letters = sum(character.isascii() and character.isalpha() for character in text)
    kept = sum(character.isascii() and character.isalpha() for character in decoded.text)
    assert kept >= letters
    if encoding in ("utf-8", "utf-16"):
        clean = text.replace("\0", "").replace("\r\n", "\n").replace("\r", "\n")
        assert decoded.text == clean.removeprefix("\ufeff")
    elif not decoded.text.isascii() or text.isascii():
        assert decoded.note or raw.isascii() or raw.decode("utf-8", "ignore").encode() == raw


# --- Markdown ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# A `title` { #anchor }\n\ntext", "A title"),
        ("Title\n=====\n\ntext", "Title"),
        ("## Second level\n\n# First level", "First level"),
        ("```\n# code\n```", "guide"),
        ("## Only second level", "guide"),
        ("---\ntitle: From the front\n---\n# Heading", "From the front"),
        ("---\ntitle: 3.10\n---\ntext", "3.10"),
        ("---\ntitle: [a, b]\n---\n# Heading", "Heading"),
        ("# " + "word " * 100, "word " * 23 + "word"),
        ("# " + "数" * 300, "数" * 120),
    ],
)
def test_markdown_title(tmp_path: Path, text: str, title: str) -> None:
    loaded = load(tmp_path, "guide.md", text)
    assert (loaded.title, loaded.media_type) == (title, "text/markdown")


def test_front_matter_becomes_metadata(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        "guide.markdown",
        '---\ntitle: Guide\nlang: en\nyear: 2024\ndate: 2024-05-01\ndraft: false\ntags: [a, "b"]\n'
        'weight: .inf\nnested: {a: 1}\nrows: [[1]]\nempty:\n1: one\nodd: "\\0"\n---\n# Heading\n',
    )
    assert loaded.content == "# Heading\n"
    assert loaded.metadata == {
        "lang": "en",
        "year": 2024,
        "date": "2024-05-01",
        "draft": False,
        "tags": ["a", "b"],
    }


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA thematic break, and another\n\n---\ntext",
        "---\n- a list\n---\ntext",
        "---\nkey: [unclosed\n---\ntext",
        "---\nwhen: 2024-13-45\n---\ntext",
        "---\nbad: !!int ''\n---\ntext",
        "---\na: " + "[" * 5000 + "\n---\ntext",
        "---\nnever: closed\n",
        "+++\ntitle = unquoted\n+++\ntext",
        "+++\n\nA rule of signs\n",
        " ---\na: b\n---\n",
        "text\n---\na: b\n---\n",
    ],
)
@pytest.mark.few(5)
def test_what_is_no_front_matter_stays_in_the_text(text: str) -> None:
    front = split_front_matter(text)
    assert (front.body, front.title, front.metadata) == (text, "", {})


@pytest.mark.parametrize("block", ["---\n---\n", "---\n# comment\n---\n", "---\na: b\n...\n"])
def test_front_matter_is_taken_off_the_text(block: str) -> None:
    assert split_front_matter(block + "text").body == "text"


def test_what_front_matter_has_twice_is_told() -> None:
    front = split_front_matter("---\nyear: 1\ntitle: A\nyear: 2\ntitle: B\n---\ntext")
    assert (front.title, front.metadata, front.body) == ("B", {"year": 2}, "text")
    assert front.notes[-1] == "of what the front matter has twice the last counts: year, title"


def test_front_matter_may_be_toml() -> None:
    front = split_front_matter(
        '+++\ntitle = "Leave"\ndate = 2024-05-01\nat = 09:30:00\n[params]\nowner = "Ann"\n+++\nText'
    )
    assert (front.title, front.body) == ("Leave", "Text")
    assert front.metadata == {"date": "2024-05-01", "at": "09:30:00"}
    assert front.notes == ["front matter left out, which metadata cannot hold: params"]


@settings(max_examples=tries(50, 20), deadline=None)
@given(st.text(st.sampled_from("ab:-[]{}!&*'\"\\0 \n|>?#%@"), max_size=60))
def test_front_matter_never_fails(text: str) -> None:
    block = f"---\n{text}\n---\nbody"
    assert block.endswith(split_front_matter(block).body)


# --- reStructuredText ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("=====\nGuide\n=====\n\nInstall\n-------\n\ntext", "Guide"),
        (".. topic:: Not this\n\n   x\n\nReal *title*\n============\n\ntext", "Real title"),
        (".. include:: secret.rst\n\ntext", "install"),
        ("just text", "install"),
        ("bad\n===\n\n.. unknown:: x\n\n:role:`y`", "bad"),
    ],
)
def test_rst_is_kept_as_it_is_with_its_title(tmp_path: Path, text: str, title: str) -> None:
    (tmp_path / "secret.rst").write_text("Secret\n======\n")
    loaded = load(tmp_path, "install.rst", text)
    assert (loaded.content, loaded.title, loaded.media_type) == (text, title, "text/x-rst")


# --- HTML ----------------------------------------------------------------------------------------

PAGE = """<?xml version="1.0"?><!DOCTYPE html>
<html><head><title>Install \u2014 Docs</title><style>p {}</style></head><body>
<header><a href="/">Logo</a></header><nav>Menu</nav>
<main><header><h1>Install<a class="headerlink" href="#i">\u00b6</a></h1></header>
<p>Set <code>snake_case</code> to *this*: <a href="https://example.org/x">there</a>,
<a href="../b.html">here</a>. <img src="data:image/png;base64,AAAA" alt="A picture"></p>
<pre><code class="language-py"># no heading
x = 1</code></pre>
<table><tr><td>a</td><td>b</td></tr><tr><td>1</td><td>2</td></tr></table>
<ul><li>one<ul><li>two</li></ul></li></ul><script>alert(1)</script></main>
<footer>Imprint</footer></body></html>"""


def test_html_becomes_markdown_of_its_main_content(tmp_path: Path) -> None:
    loaded = load(tmp_path, "page.html", PAGE)
    assert (loaded.title, loaded.media_type) == ("Install", "text/markdown")
    assert loaded.content == (
        "# Install\n\n"
        "Set `snake_case` to *this*: [there](https://example.org/x), here. A picture\n\n"
        "```py\n# no heading\nx = 1\n```\n\n"
        "| a | b |\n| --- | --- |\n| 1 | 2 |\n\n"
        "- one\n  - two"
    )


@pytest.mark.parametrize(
    ("html", "title", "text"),
    [
        ("<h1>Only a <b>heading</b></h1><p>x</p>", "Only a heading", "# Only a **heading**\n\nx"),
        ("<p>no title</p>", "", "no title"),
        ("no markup at all", "", "no markup at all"),
        ("<article>a</article><article>b</article>", "", "a\n\nb"),
        ("<div>menu</div><article>a</article>", "", "a"),
        ("<main></main><p>b</p>", "", "b"),
        ("<div role=main>a</div>b", "", "a"),
        ("<header>site</header><p>a</p>", "", "a"),
        ("<form><p>a</p><button>Send</button></form>", "", "a"),
        ("<title>T</title>a<p hidden>b</p>", "T", "a"),
        ("a &#xD800;&#0; b", "", "a \ufffd\ufffd b"),
    ],
)
def test_html_content(html: str, title: str, text: str) -> None:
    assert html_to_markdown(html) == (title, text)


def test_very_deep_html_is_kept_as_text() -> None:
    assert html_to_markdown("<div>" * 1500 + "deep<script>x</script>") == ("", "deep")


@settings(max_examples=tries(100, 40), deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                "<p>",
                "</p>",
                "<",
                "<!",
                "<![",
                "<a href=",
                '"',
                "x",
                "&#",
                "-->",
                "<!--",
                "<td>",
                "<li>",
                "<pre>",
                "\ud7ff",
                "<title>",
                "<main>",
            ]
        )
    )
)
def test_broken_html_is_read_or_refused(parts: list[str]) -> None:
    try:
        html_to_markdown("".join(parts))
    except UnsupportedFile as exc:
        assert "is not HTML" in str(exc)


def test_html_may_have_the_encoding_it_declares(tmp_path: Path) -> None:
    page = '<meta charset="{}"><p>Grüße \u201cx\u201d ' + "ü" * 50
    for declared, actual in (("iso-8859-1", "cp1252"), ("windows-1252", "cp1252")):
        loaded = load(tmp_path, "a.htm", page.format(declared).encode(actual))
        assert loaded.content == "Grüße \u201cx\u201d " + "ü" * 50
    page = page.rstrip("ü")
    loaded = load(tmp_path, "a.htm", page.format("no-such-encoding").encode("cp1252"))
    assert loaded.notes == ("it is not UTF-8 and was read as windows-1252",)


# --- bad files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "data", "error", "message"),
    [
        (
            "a.png",
            b"PNG",
            UnsupportedFile,
            r"a\.png: the type \.png cannot be loaded; supported: \.md, ",
        ),
        ("README", b"x", UnsupportedFile, "a file without a suffix cannot be loaded; supported"),
        ("a.txt", b"", InvalidInput, "is empty"),
        ("a.txt", b" \n\x00\n", InvalidInput, "is empty"),
        ("a.md", b"---\ntitle: x\n---\n", InvalidInput, "is empty"),
        ("a.html", b"<html><body><nav>menu</nav></body></html>", InvalidInput, "is empty"),
        ("a.txt", bytes(range(256)) * 20, UnsupportedFile, r"is not text: 500 of 5,120 bytes"),
        (
            "a.txt",
            b"docs/a.md\x00docs/b.md\x00" * 9,
            UnsupportedFile,
            "18 of 180 bytes are control",
        ),
        ("a.txt", b"\x1b$)A\x0e=;;;\x0f", UnsupportedFile, "of ISO 2022, but is none of its"),
        (
            "a.txt",
            b"words \x81\x8d\x90 words",
            UnsupportedFile,
            r"is not UTF-8: byte 0x81 at offset 6; convert it, .* iconv -f",
        ),
        ("a.txt", b"\xff\xfea\x00b", UnsupportedFile, "is not UTF-16: byte 0x62 at offset 4"),
        ("a.txt", b"x" * 2001, InvalidInput, r"2,001 bytes, .* 2,000; .* RAG_PG_MAX_FILE_BYTES"),
    ],
)
def test_a_bad_file_is_refused_with_one_line_that_names_it(
    tmp_path: Path, name: str, data: bytes, error: type[InvalidInput], message: str
) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(error, match=message) as caught:
        load_file(path, name, max_bytes=6000 if len(data) > 5000 else 2000)
    assert type(caught.value) is error
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_of_exactly_the_limit_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"x" * 2000)
    assert len(load_file(tmp_path / "a.txt", "a.txt", max_bytes=2000).content) == 2000


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"gone\.md does not exist \(any more\)"):
        load_file(tmp_path / "gone.md", "gone.md")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(InvalidInput, match=r"folder\.md is a folder"):
        load_file(tmp_path / "folder.md", "folder.md")


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.md")
    with pytest.raises(UnsupportedFile, match="is a device or a pipe"):
        load_file(tmp_path / "pipe.md", "pipe.md")


def test_an_unreadable_file_says_so(unprivileged: Path) -> None:
    (unprivileged / "secret.md").write_text("x")
    (unprivileged / "secret.md").chmod(0)
    with pytest.raises(InvalidInput, match="permission denied"):
        load_file(unprivileged / "secret.md", "secret.md")


def test_an_impossible_path_is_an_error_like_any_other() -> None:
    with pytest.raises(InvalidInput, match="cannot be read"):
        load_file(Path("a\x00b.md"), "x")
    (failure,) = find_files([Path("a\x00b.md")]).failures
    assert "cannot be read" in failure.error


@settings(max_examples=tries(200, 80), deadline=None)
@given(data=st.binary(max_size=300), suffix=st.sampled_from([".txt", ".md", ".html", ".rst"]))
def test_any_bytes_are_loaded_clean_or_refused_in_one_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, suffix: str
) -> None:
    path = tmp_path_factory.getbasetemp() / f"any{suffix}"
    path.write_bytes(data)
    try:
        loaded = load_file(path, "any")
    except InvalidInput as exc:
        assert "\n" not in str(exc)
    else:
        assert clean_text(loaded.content + loaded.title)[1] == 0
        assert loaded.content.strip() and loaded.title


# --- finding -------------------------------------------------------------------------------------


def test_a_folder_gives_its_supported_files_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, "hand/b.md", "hand/a.TXT", "hand/deep/c.rst", "hand/deep/x/d.html", "hand/e.png")
    make(tmp_path, "hand/.hidden.md", "hand/.git/f.md", "hand/md", "other/b.md")
    monkeypatch.chdir(tmp_path)
    found = find_files([Path("./hand/"), Path("other/../other"), Path("hand/b.md")])
    assert [uri for _, uri in found.files] == [
        "hand/a.TXT",
        "hand/b.md",
        "hand/deep/c.rst",
        "hand/deep/x/d.html",
        "other/b.md",
    ]
    assert [load_file(path, uri).content for path, uri in found.files] == ["text"] * 5
    assert (found.failures, found.skipped) == ([], {".png": 1, "no suffix": 1})


def test_each_spelling_of_a_folder_in_the_working_folder_gives_the_same_uris(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    make(work, "docs/a.md", "docs/sub/b.md", "other/c.md")
    (tmp_path / "link").symlink_to(work, target_is_directory=True)
    (work / "manual").symlink_to(work / "docs", target_is_directory=True)
    monkeypatch.chdir(work)
    for spelling in ("docs", "./docs/", "other/../docs", "../work/docs", "docs/**/*.md"):
        assert uris(spelling) == ["docs/a.md", "docs/sub/b.md"], spelling
    assert uris(str(work / "docs")) == uris(str(tmp_path / "link" / "docs")) == uris("docs")
    assert uris("docs", str(work / "docs"), "./docs") == uris("docs")
    assert uris("docs/sub/../a.md") == ["docs/a.md"]
    assert uris("manual") == ["manual/a.md", "manual/sub/b.md"]  # a link has a name of its own
    monkeypatch.chdir(work / "docs" / "sub")
    assert uris(".") == ["b.md"]
    assert uris("..") == uris(str(work / "docs")) == [f"{work}/docs/a.md", f"{work}/docs/sub/b.md"]


def uris(*paths: str) -> list[str]:
    found = find_files([Path(path) for path in paths])
    assert found.failures == []
    return [uri for _, uri in found.files]


def test_hidden_files_and_folders_are_found_when_named(tmp_path: Path) -> None:
    make(tmp_path, ".notes/a.md", ".b.md")
    assert len(find_files([tmp_path / ".notes", tmp_path / ".b.md"]).files) == 2


def test_loops_of_links_end(tmp_path: Path) -> None:
    make(tmp_path, "docs/a.md")
    (tmp_path / "docs" / "again").symlink_to(tmp_path / "docs", target_is_directory=True)
    (tmp_path / "docs" / "link.md").symlink_to(tmp_path / "docs" / "a.md")
    (tmp_path / "docs" / "self.md").symlink_to("self.md")
    found = find_files([tmp_path / "docs"])
    assert [path.name for path, _ in found.files] == ["a.md", "link.md", "self.md"]
    with pytest.raises(InvalidInput, match="symbolic links"):
        load_file(tmp_path / "docs" / "self.md", "self.md")


def test_what_cannot_be_added_is_a_failure_and_the_rest_goes_on(tmp_path: Path) -> None:
    make(tmp_path, "good/a.md", "images/b.png", "images/c.png", "report.doc")
    (tmp_path / "empty").mkdir()
    names = ["empty", "images", "report.doc", "missing", "good"]
    found = find_files([tmp_path / name for name in names])
    assert [path.name for path, _ in found.files] == ["a.md"]
    errors = [failure.error for failure in found.failures]
    assert [Path(failure.uri).name for failure in found.failures] == names[:4]
    assert "empty has no file of a supported type (.md, .markdown, .html" in errors[0]
    assert "it has 2 of other types" in errors[1]
    assert "the type .doc cannot be loaded; supported: .md" in errors[2]
    assert "missing does not exist" in errors[3]


def test_a_name_that_is_not_utf8_is_reported_in_utf8(tmp_path: Path) -> None:
    try:
        (tmp_path / os.fsdecode(b"caf\xe9.md")).write_text("x")
    except OSError:
        return  # a file system that takes UTF-8 names only has no such file to report
    (failure,) = find_files([tmp_path]).failures
    assert "caf\\udce9.md is not valid UTF-8; rename the file" in failure.error
    failure.error.encode()


def test_an_unreadable_folder_is_reported_and_the_others_are_read(unprivileged: Path) -> None:
    make(unprivileged, "a/x.md", "b/x.md")
    (unprivileged / "a").chmod(0)
    found = find_files([unprivileged])
    (unprivileged / "a").chmod(0o700)
    assert [path.name for path, _ in found.files] == ["x.md"]
    assert ["permission denied" in failure.error for failure in found.failures] == [True]
