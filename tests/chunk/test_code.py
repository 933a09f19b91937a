"""Source code as blocks: what each language calls a function or a class, and where it ends."""

from __future__ import annotations

import pytest
from spans import faults, longest, words

from rag_pg.chunk.code import outline_code
from rag_pg.chunk.settings import Chunking
from rag_pg.chunk.splitter import Splitter
from rag_pg.errors import InvalidInput

PYTHON = '''\
"""Doc."""
import os

X = 1


# about f
@decorator
def f(a):
    """F."""

    return 1


class A(B):
    """A doc."""

    field = 1

    def m(self):
        return 2

    @property
    async def n(self):
        return 3

    class Inner:
        def deep(self): pass


if __name__ == "__main__":
    f(1)
'''

JAVASCRIPT = """\
import x from "y";

/** About f. */
export function f(a) {
  return 1;
}

export default class A extends B {
  field = 1;
  handler = () => { return 1; };
  #p() { return 2; }
  constructor() { super(); }
}

const g = async (x) => {
  return x;
};
const h = 1, k = 2;
module.exports = { f, g };
exports.z = function () { return 3 };
"""

TYPESCRIPT = """\
import { x } from "y";
export interface P { a: string; m(): void }
export type T = string | number;
export abstract class A<T> implements P {
  private x: number = 1;
  @dec() async m(): Promise<void> {
    return;
  }
  abstract n(): void;
}
namespace N {
  export const f = (a: number): number => a;
}
enum E { A, B }
declare function q(): void;
"""

GO = """\
package main

import "fmt"

// Point is a point.
type Point struct {
	X int
}

type (
	A int
	B string
)

// Dist does.
func (p *Point) Dist(q Point) float64 {
	return 1
}

func main() {
	fmt.Println("x")
}
"""

RUST = """\
use std::fmt;

/// A point.
#[derive(Debug)]
pub struct Point<T> {
    x: T,
}

impl<T> fmt::Display for Point<T> {
    fn fmt(&self) -> fmt::Result {
        Ok(())
    }
}

impl Point<f64> {
    /// New.
    pub fn new() -> Self {
        Point { x: 1.0 }
    }
}

mod tests {
    #[test]
    fn works() {}
}

macro_rules! m { () => {} }
pub trait Shape { fn area(&self) -> f64; }
enum E { A }
type T = i32;
"""

JAVA = """\
package a.b;

import java.util.List;

/** Doc. */
@Deprecated
public class A extends B {
    private int x;

    /** C. */
    public A() {
        x = 1;
    }

    @Override
    public String m(int a) {
        return "";
    }

    enum E { P, Q; int f() { return 1; } }
    record R(int a) {}
}

interface I { void q(); }
"""

C = """\
#include <stdio.h>
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* A point. */
struct point {
    int x;
};

typedef struct { int y; } other;
typedef struct node { int z; } node_t;

static int *f(int a,
              int b)
{
    return 0;
}

#ifdef FOO
void g(void) {
}
#endif

enum color { RED };
static int table[] = {1, 2};
"""

CPP = """\
#include <vector>

namespace a::b {

template <typename T>
class Stack : public Base {
public:
    Stack() = default;
    void push(const T& x) {
        v.push_back(x);
    }
    T& top();
private:
    std::vector<T> v;
};

template <typename T>
T& Stack<T>::top() {
    return v.back();
}

bool operator==(const A& a, const A& b) { return true; }

}  // namespace

extern "C" {
int c_fun(int a) { return a; }
}
"""

SQL = """\
-- Users of it.
CREATE TABLE app.users (
    id bigint PRIMARY KEY
);

CREATE INDEX users_id ON app.users (id);

CREATE OR REPLACE FUNCTION app.f(a integer)
RETURNS integer
LANGUAGE plpgsql
AS $$
BEGIN
    RETURN a + 1;
END
$$;

CREATE VIEW v AS SELECT 1;

COMMENT ON FUNCTION app.f(integer) IS 'One more; ''not'' two.';

SELECT 1;
INSERT INTO app.users VALUES (1);
"""

# Of each block: its path, its first and its last line.
BLOCKS = {
    "text/x-python": (
        PYTHON,
        [
            ("", '"""Doc."""', "X = 1"),
            ("f", "# about f", "return 1"),
            ("A", "class A(B):", "field = 1"),
            ("A > m", "def m(self):", "return 2"),
            ("A > n", "@property", "return 3"),
            ("A > Inner", "class Inner:", "class Inner:"),
            ("A > Inner > deep", "def deep(self): pass", "def deep(self): pass"),
            ("", 'if __name__ == "__main__":', "f(1)"),
        ],
    ),
    "text/javascript": (
        JAVASCRIPT,
        [
            ("", 'import x from "y";', 'import x from "y";'),
            ("f", "/** About f. */", "}"),
            ("A", "export default class A extends B {", "field = 1;"),
            ("A > handler", "handler = () => { return 1; };", "handler = () => { return 1; };"),
            ("A > #p", "#p() { return 2; }", "#p() { return 2; }"),
            ("A > constructor", "constructor() { super(); }", "}"),
            ("g", "const g = async (x) => {", "};"),
            ("", "const h = 1, k = 2;", "module.exports = { f, g };"),
            (
                "exports.z",
                "exports.z = function () { return 3 };",
                "exports.z = function () { return 3 };",
            ),
        ],
    ),
    "text/x-typescript": (
        TYPESCRIPT,
        [
            ("", 'import { x } from "y";', 'import { x } from "y";'),
            (
                "P",
                "export interface P { a: string; m(): void }",
                "export interface P { a: string; m(): void }",
            ),
            ("T", "export type T = string | number;", "export type T = string | number;"),
            ("A", "export abstract class A<T> implements P {", "private x: number = 1;"),
            ("A > m", "@dec() async m(): Promise<void> {", "}"),
            ("A > n", "abstract n(): void;", "}"),
            ("N", "namespace N {", "namespace N {"),
            ("N > f", "export const f = (a: number): number => a;", "}"),
            ("E", "enum E { A, B }", "enum E { A, B }"),
            ("q", "declare function q(): void;", "declare function q(): void;"),
        ],
    ),
    "text/x-go": (
        GO,
        [
            ("", "package main", 'import "fmt"'),
            ("Point", "// Point is a point.", "}"),
            ("", "type (", "type ("),
            ("A", "A int", "A int"),
            ("B", "B string", ")"),
            ("Point > Dist", "// Dist does.", "}"),
            ("main", "func main() {", "}"),
        ],
    ),
    "text/x-rust": (
        RUST,
        [
            ("", "use std::fmt;", "use std::fmt;"),
            ("Point", "/// A point.", "}"),
            (
                "fmt::Display for Point<T>",
                "impl<T> fmt::Display for Point<T> {",
                "impl<T> fmt::Display for Point<T> {",
            ),
            ("fmt::Display for Point<T> > fmt", "fn fmt(&self) -> fmt::Result {", "}"),
            ("Point<f64>", "impl Point<f64> {", "impl Point<f64> {"),
            ("Point<f64> > new", "/// New.", "}"),
            ("tests", "mod tests {", "mod tests {"),
            ("tests > works", "#[test]", "}"),
            ("m", "macro_rules! m { () => {} }", "macro_rules! m { () => {} }"),
            (
                "Shape",
                "pub trait Shape { fn area(&self) -> f64; }",
                "pub trait Shape { fn area(&self) -> f64; }",
            ),
            ("E", "enum E { A }", "enum E { A }"),
            ("T", "type T = i32;", "type T = i32;"),
        ],
    ),
    "text/x-java": (
        JAVA,
        [
            ("", "package a.b;", "import java.util.List;"),
            ("A", "/** Doc. */", "private int x;"),
            ("A > A", "/** C. */", "}"),
            ("A > m", "@Override", "}"),
            (
                "A > E",
                "enum E { P, Q; int f() { return 1; } }",
                "enum E { P, Q; int f() { return 1; } }",
            ),
            ("A > R", "record R(int a) {}", "}"),
            ("I", "interface I { void q(); }", "interface I { void q(); }"),
        ],
    ),
    "text/x-c": (
        C,
        [
            ("", "#include <stdio.h>", "#include <stdio.h>"),
            (
                "MAX",
                "#define MAX(a, b) ((a) > (b) ? (a) : (b))",
                "#define MAX(a, b) ((a) > (b) ? (a) : (b))",
            ),
            ("point", "/* A point. */", "};"),
            ("other", "typedef struct { int y; } other;", "typedef struct { int y; } other;"),
            (
                "node_t",
                "typedef struct node { int z; } node_t;",
                "typedef struct node { int z; } node_t;",
            ),
            ("f", "static int *f(int a,", "}"),
            ("g", "#ifdef FOO", "#endif"),
            ("color", "enum color { RED };", "enum color { RED };"),
            ("", "static int table[] = {1, 2};", "static int table[] = {1, 2};"),
        ],
    ),
    "text/x-c++": (
        CPP,
        [
            ("", "#include <vector>", "#include <vector>"),
            ("a::b", "namespace a::b {", "namespace a::b {"),
            ("a::b > Stack", "template <typename T>", "public:"),
            ("a::b > Stack > Stack", "Stack() = default;", "Stack() = default;"),
            ("a::b > Stack > push", "void push(const T& x) {", "}"),
            ("a::b > Stack", "T& top();", "};"),
            ("a::b > Stack<T>::top", "template <typename T>", "}"),
            (
                "a::b > operator==",
                "bool operator==(const A& a, const A& b) { return true; }",
                "bool operator==(const A& a, const A& b) { return true; }",
            ),
            ("a::b", "}  // namespace", "}  // namespace"),
            ("c_fun", 'extern "C" {', "}"),
        ],
    ),
    "text/x-sql": (
        SQL,
        [
            ("app.users", "-- Users of it.", ");"),
            (
                "users_id",
                "CREATE INDEX users_id ON app.users (id);",
                "CREATE INDEX users_id ON app.users (id);",
            ),
            ("app.f", "CREATE OR REPLACE FUNCTION app.f(a integer)", "$$;"),
            ("v", "CREATE VIEW v AS SELECT 1;", "CREATE VIEW v AS SELECT 1;"),
            (
                "app.f",
                "COMMENT ON FUNCTION app.f(integer) IS 'One more; ''not'' two.';",
                "COMMENT ON FUNCTION app.f(integer) IS 'One more; ''not'' two.';",
            ),
            ("", "SELECT 1;", "INSERT INTO app.users VALUES (1);"),
        ],
    ),
}


@pytest.mark.parametrize("media_type", BLOCKS)
def test_code_is_cut_into_its_functions_and_classes(media_type: str) -> None:
    text, expected = BLOCKS[media_type]
    blocks = outline_code(text, media_type)
    lines = [text[block.start : block.stop].strip().splitlines() for block in blocks]
    found = [
        (" > ".join(block.path), first[0].strip(), first[-1].strip())
        for block, first in zip(blocks, lines, strict=True)
    ]
    assert found == expected


def test_tsx_is_read_with_its_markup() -> None:
    text = "const App = () => {\n  return <p>x</p>;\n};\n\nfunction B() {}\n"
    assert [block.path for block in outline_code(text, "text/x-tsx")] == [("App",), ("B",)]


def test_a_function_larger_than_a_chunk_is_cut_at_blank_lines() -> None:
    step = "        a = 1  # step\n        b = 2\n"
    text = "class A:\n    x = 1\n\n    def f(self):\n" + "\n".join([step] * 9)
    spans = Splitter(words, Chunking(max_tokens=40)).split(text, media_type="text/x-python")
    assert faults(text, spans) == []
    assert longest(spans, words) <= 40
    assert [span.heading for span in spans] == ["A", "A > f", "A > f", "A > f"]
    assert all(span.text.endswith("b = 2") for span in spans[1:])


def test_small_functions_are_joined_under_the_class_they_share() -> None:
    text = "class A:\n" + "".join(f"    def m{n}(self): pass\n" for n in range(4)) + "x = 1\n" * 30
    spans = Splitter(words, Chunking(max_tokens=100)).split(text, media_type="text/x-python")
    assert [span.heading for span in spans] == ["A", ""]


def test_broken_code_is_cut_all_the_same() -> None:
    text = "def f(:\n  return (\n\nclass A\n  def g(self): pass\n}}}}\n"
    blocks = outline_code(text, "text/x-python")
    assert "".join(text[block.start : block.stop] for block in blocks) == text


def test_very_deep_code_ends() -> None:
    text = "".join(f"{'  ' * n}class A{n}:\n" for n in range(300)) + "  " * 300 + "pass\n"
    assert max(len(block.path) for block in outline_code(text, "text/x-python")) < 20


def test_a_language_without_a_grammar_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"'text/x-ruby' is no programming language that can be"):
        outline_code("x", "text/x-ruby")


# --- SQL -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("CREATE OR REPLACE FUNCTION a.f() RETURNS int LANGUAGE sql AS 'SELECT 1; '", "a.f"),
        ("CREATE PROCEDURE p() LANGUAGE plpgsql AS $x$ BEGIN; $$ ; $$; END $x$", "p"),
        ("CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT CASE WHEN a THEN 1 END; END", "f"),
        (
            'CREATE UNLOGGED TABLE IF NOT EXISTS "My schema"."t" (a text DEFAULT \';\')',
            '"My schema"."t"',
        ),
        ("create unique index i ON t (a) /* ; */ -- ;\n", "i"),
        ("ALTER TABLE ONLY t ADD COLUMN a$b$c text", "t"),
        ("CREATE MATERIALIZED VIEW v AS SELECT E'\\\\'; ' AS x", "v"),
        ("COMMENT ON FUNCTION f(int) IS 'a; b'", "f"),
    ],
)
def test_a_statement_ends_where_postgresql_ends_it(statement: str, name: str) -> None:
    text = f"SELECT 1;\n{statement};\nSELECT 2;\n"
    assert [block.path for block in outline_code(text, "text/x-sql")] == [(), (name,), ()]


@pytest.mark.parametrize("text", ["'" * 50_000, "$a$" * 50_000, "/*" * 50_000, "$a$ $b$ " * 20_000])
def test_what_is_never_closed_is_read_in_one_pass(text: str) -> None:
    blocks = outline_code(text, "text/x-sql")
    assert "".join(text[block.start : block.stop] for block in blocks) == text
