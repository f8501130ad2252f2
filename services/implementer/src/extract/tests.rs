use super::program;

const WHOLE: &str = "import pandas as pd\npd.DataFrame().to_csv(\"submission.csv\")\n";

#[test]
fn fenced_block_is_the_program() {
    for (open, close) in [
        ("```python\n", "```"),
        ("```py\n", "```\n"),
        ("```Python3\n", "```   \n"),
        ("```\n", "```"),
        ("``` python\n", "```"),
        ("```python {.line}\n", "```"),
        ("````python\n", "````"),
        ("~~~python\n", "~~~"),
        ("~~~\n", "~~~~"),
        (
            "Here is the program:\n\n```python\n",
            "```\n\nIt trains a model. It's `good`.",
        ),
        ("Sure! ```python\n", "```"),
        ("   ```python\n", "   ```"),
    ] {
        let text = format!("{open}{WHOLE}{close}");
        assert_eq!(program(&text).as_deref(), Some(WHOLE), "{text:?}");
    }
}

#[test]
fn block_without_end_runs_to_the_end() {
    let text = format!("Here:\n```python\n{WHOLE}model.fi");
    assert_eq!(program(&text), Some(format!("{WHOLE}model.fi")));
}

#[test]
fn text_without_code_has_no_program() {
    for text in [
        "",
        "\n",
        "I can't do that.",
        "First import the data, then train.",
        "import duties are high these days",
        "from time to time",
        "```python\n```",
        "```python\n   \n```",
        "```\nJust words here.\n```",
        "```bash\npip install pandas\n```",
        "```",
        "Use `model.fit(X)` to fit.",
    ] {
        assert_eq!(program(text), None, "{text:?}");
    }
}

#[test]
fn last_whole_program_wins_over_pieces_and_earlier_ones() {
    let earlier = format!("# v1\n{WHOLE}");
    let text = format!(
        "```bash\npip install x\n```\n```python\nx = 1\n```\n```python\n{earlier}```\nBetter:\n```python\n{WHOLE}```\n\
         Output:\n```\nscore = 0.9\n```\n```python\nprint('{}')\n```\n",
        "long ".repeat(100)
    );
    assert_eq!(program(&text).as_deref(), Some(WHOLE));
}

#[test]
fn closed_whole_program_wins_over_a_later_one_that_is_cut() {
    let text = format!("```python\n{WHOLE}```\nOr:\n```python\n# v2\n{WHOLE}mod");
    assert_eq!(program(&text).as_deref(), Some(WHOLE));
    let text = format!("```python\nx = 1\n```\nOr:\n```python\n# v2\n{WHOLE}mod");
    assert_eq!(program(&text), Some(format!("# v2\n{WHOLE}mod")));
}

#[test]
fn longest_piece_wins_when_none_is_whole() {
    assert_eq!(
        program("```python\nx = 1\n```\n```python\nprint(1)\nprint(2)\n```\n```py\ny=2\n```").as_deref(),
        Some("print(1)\nprint(2)\n")
    );
}

#[test]
fn program_without_fence_starts_at_its_first_import() {
    assert_eq!(program(WHOLE).as_deref(), Some(WHOLE));
    assert_eq!(
        program(&format!("Here is the code:\n\n{WHOLE}")).as_deref(),
        Some(WHOLE)
    );
    let from = "from sklearn.linear_model import LogisticRegression, Ridge\nx = 1";
    assert_eq!(program(from).as_deref(), Some(from));
    // A closing fence without an opening one.
    assert_eq!(
        program(&format!("{WHOLE}```\n\nThis writes the submission.")).as_deref(),
        Some(WHOLE)
    );
}

#[test]
fn fences_in_strings_and_comments_do_not_end_the_block() {
    let code = "import os\ndoc = \"\"\"\n```\nusage\n```\n\"\"\"\ns = '```'  # ```\nt = f'''\n```python\n'''\ndf.to_csv('submission.csv')\n";
    let text = format!("```python\n{code}```\nDone.");
    assert_eq!(program(&text).as_deref(), Some(code));
}

#[test]
fn fence_ends_the_block_when_a_string_is_never_closed() {
    let text = "```python\nimport os\nx = '''\ny = 1\n```\nThe end.";
    assert_eq!(program(text).as_deref(), Some("import os\nx = '''\ny = 1\n"));
}

#[test]
fn apostrophes_and_quotes_in_comments_are_no_strings() {
    let code = "import os  # don't \"\"\"\nx = 'it\\'s'; y = \"a'b\"\nz = r'\\\\' # '''\ndf.to_csv(x)\n";
    assert_eq!(
        program(&format!("```python\n{code}```\nIt's done.")).as_deref(),
        Some(code)
    );
}

#[test]
fn fence_glued_to_the_last_line_ends_the_block() {
    let text = "```python\nimport os\ndf.to_csv('submission.csv')```\nThat's it.";
    assert_eq!(
        program(text).as_deref(),
        Some("import os\ndf.to_csv('submission.csv')")
    );
}

#[test]
fn line_endings_are_kept() {
    let text = "Code:\r\n```python\r\nimport os\r\nx = 1\r\n```\r\nDone.\r\n";
    assert_eq!(program(text).as_deref(), Some("import os\r\nx = 1\r\n"));
}

#[test]
fn block_in_a_list_loses_the_indent_of_its_fence() {
    let text = "1. Do this:\n\n   ```python\n   import os\n   if os:\n       x = 1\n   ```\n";
    assert_eq!(program(text).as_deref(), Some("import os\nif os:\n    x = 1\n"));
}

#[test]
fn any_text_is_read_without_harm() {
    let parts = [
        "```", "python", "\n", "'''", "\"", "~~~~", " ", "é", "#", "\\", "import a", "\r\n", "`", "日",
    ];
    let mut seed = 1u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..12 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(seed >> 33) as usize % parts.len()]);
        }
        if let Some(program) = program(&text) {
            assert!(!program.trim().is_empty(), "{text:?}");
        }
    }
}
