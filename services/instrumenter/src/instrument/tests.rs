mod corpus;

use journeyman_schemas::execution::{Marker, Nonce};

use super::{Instrumented, Proposal, Reason, Way, draw_nonce, instrument};

const NONCE: &str = "00112233445566778899aabbccddeeff";

fn nonce() -> Nonce {
    Nonce(NONCE.to_owned())
}

fn tree(program: &str) -> Instrumented {
    instrument(program, &Proposal::NotAsked, &nonce()).unwrap()
}

/// The text that `tree` gives, with `@word` for each marker print.
fn shown(program: &str) -> String {
    let mut text = tree(program).program;
    for marker in Marker::ALL {
        let print = format!("print(\"{NONCE} {}\", flush=True)", marker.as_str());
        text = text.replace(&print, &format!("@{}", marker.as_str()));
    }
    text
}

#[test]
fn statement_on_its_own_line_gets_the_print_on_the_next() {
    assert_eq!(shown("import os\nx = 1\n"), "import os\n@imported\nx = 1\n");
    assert_eq!(
        shown("def f():\n\tm.fit(X, y)  # c\n\treturn m\n"),
        "def f():\n\tm.fit(X, y)  # c\n\t@trained_model\n\treturn m\n"
    );
    assert_eq!(shown("m.fit(X,\n  y)"), "m.fit(X,\n  y)\n@trained_model");
    assert_eq!(
        shown("m.fit(X, y)\r\nx = 1\r\n"),
        "m.fit(X, y)\r\n@trained_model\r\nx = 1\r\n"
    );
    assert_eq!(shown("m.fit(X, y) # c"), "m.fit(X, y) # c\n@trained_model");
}

#[test]
fn statement_that_shares_its_line_gets_the_print_after_a_semicolon() {
    assert_eq!(
        shown("a = 1; m.fit(X, y); b = 2\n"),
        "a = 1; m.fit(X, y); @trained_model; b = 2\n"
    );
    assert_eq!(
        shown("if a: m.fit(X, y)\nelse: pass\n"),
        "if a: m.fit(X, y); @trained_model\nelse: pass\n"
    );
    assert_eq!(
        shown("m.fit(X, y);  # c\n"),
        "m.fit(X, y); @trained_model;  # c\n"
    );
}

#[test]
fn one_statement_with_several_steps_prints_them_in_order() {
    assert_eq!(
        shown("p = RandomForestClassifier().fit(X, y).predict(T)\n"),
        "p = RandomForestClassifier().fit(X, y).predict(T)\n@defined_model\n@trained_model\n@predicted\n"
    );
}

#[test]
fn submission_written_through_a_file_counts_when_it_is_closed() {
    let program = "with open('submission.csv', 'w') as f:\n    df.to_csv(f)\nx = 1\n";
    assert_eq!(
        shown(program),
        "with open('submission.csv', 'w') as f:\n    df.to_csv(f)\n    @wrote_submission\n@wrote_submission\nx = 1\n"
    );
}

#[test]
fn fitting_a_scaler_is_not_training() {
    let program = "from sklearn.preprocessing import StandardScaler\n\
                   s = StandardScaler()\ns.fit(X)\ns.fit(X, y)\nStandardScaler().fit(X)\ncounts = v.fit(X)\n";
    assert_eq!(tree(program).markers, [Marker::Imported]);
}

#[test]
fn other_files_are_no_submission() {
    assert_eq!(
        tree("df.to_csv('clean.csv')\ntext = df.to_csv()\n").way,
        Way::None
    );
    assert_eq!(tree("df.to_csv(path)\n").markers, [Marker::WroteSubmission]);
}

#[test]
fn import_marker_stands_before_the_other_steps() {
    let program = "import a\ndf = pd.read_csv('t')\nimport b\n";
    assert_eq!(
        shown(program),
        "import a\n@imported\ndf = pd.read_csv('t')\n@loaded_data\nimport b\n"
    );
}

#[test]
fn program_that_does_not_parse_is_a_syntax_error() {
    for program in [
        "def f(:\n",
        "x = (1\n",
        "  x = 1\n y = 2\n",
        "print 'x'\n",
        "!pip install x\n",
        "x = '''\n",
        "```\n",
    ] {
        assert!(
            instrument(program, &Proposal::NotAsked, &nonce()).is_err(),
            "{program:?}"
        );
    }
}

#[test]
fn program_without_steps_is_left_as_it_is() {
    for program in ["", "\n", "# only a comment", "x = 1", "\u{feff}x = 1\n"] {
        let result = tree(program);
        assert_eq!(
            (result.program.as_str(), result.way, result.reason),
            (program, Way::None, Reason::NoStep)
        );
    }
}

#[test]
fn byte_order_mark_keeps_its_place() {
    let result = tree("\u{feff}import os\nx = 1\n");
    assert!(result.program.starts_with("\u{feff}import os"));
    assert_eq!(result.markers, [Marker::Imported]);
}

#[test]
fn program_that_rebinds_print_gets_no_markers() {
    for binding in [
        "print = 1",
        "def print(): pass",
        "class print: pass",
        "import logging as print",
        "from x import print",
        "def f(print): pass",
        "f = lambda print: 0",
        "for print in []: pass",
        "with a as print: pass",
        "try: pass\nexcept E as print: pass",
        "def f():\n    global print",
        "del print",
        "(print := 1)",
        "[0 for print in []]",
        "match a:\n    case [*print]: pass",
        "builtins.print = f",
    ] {
        let result = tree(&format!("import os\n{binding}\n"));
        assert_eq!(
            (result.way, result.reason),
            (Way::None, Reason::PrintRebound),
            "{binding}"
        );
    }
    assert_eq!(
        tree("import os\nmap(print, x)\nx.print()\n").markers,
        [Marker::Imported]
    );
}

#[test]
fn deep_and_long_programs_do_no_harm() {
    let programs = [
        "(".repeat(30_000),
        format!("x = {}1{}", "(".repeat(20_000), ")".repeat(20_000)),
        format!("x = {}1", "-".repeat(60_000)),
        format!("x = {}1", "not ".repeat(15_000)),
        format!("x{}", ".a".repeat(30_000)),
        format!("x = 1{}", " + 1".repeat(15_000)),
        format!("x = {}0", "lambda: ".repeat(8_000)),
        "m.fit(X, y)\n".repeat(5_000),
        (0..250)
            .map(|depth| format!("{}if x:\n", " ".repeat(depth)))
            .collect::<String>()
            + &" ".repeat(251)
            + "pass\n",
    ];
    for program in programs {
        let begin: String = program.chars().take(20).collect();
        let result = crate::tree::with_large_stack(move || {
            instrument(&program, &Proposal::NotAsked, &nonce())
                .map(|result| result.markers.len())
                .ok()
        });
        assert!(result.is_ok(), "{begin}");
    }
    let long = format!("import os\n{}", "x = 1\n".repeat(20_000));
    assert_eq!(tree(&long).reason, Reason::TooLong);
}

#[test]
fn proved_proposal_of_the_model_is_taken() {
    let program = "import a\nimport b\ndf = load()\nm = make()\n";
    let answer =
        "Here you are:\n- imported: 2\n`loaded_data`: line 3\n* defined_model = 4\npredicted: none\n";
    let result = instrument(program, &Proposal::Answer(answer.to_owned()), &nonce()).unwrap();
    assert_eq!((result.way, result.reason), (Way::Model, Reason::Accepted));
    assert_eq!(
        result.markers,
        [Marker::Imported, Marker::LoadedData, Marker::DefinedModel]
    );
    assert_eq!(result.program.lines().count(), 7);
}

#[test]
fn refused_proposal_falls_back_to_the_tree() {
    let program = "from __future__ import annotations\nimport a\nif a:\n    m.fit(X, y)\nx = 1\n# c\nreturn_ = [\n f()]\n";
    let cases = [
        ("", Reason::NoAnswer),
        ("I can't.", Reason::NoAnswer),
        ("unknown: 3", Reason::NoAnswer),
        ("imported: 1", Reason::BadLine),
        ("trained_model: 0", Reason::BadLine),
        ("trained_model: 99", Reason::BadLine),
        ("trained_model: 3", Reason::BadLine),
        ("trained_model: 5", Reason::BadLine),
        ("trained_model: 6", Reason::BadLine),
        ("trained_model: 7", Reason::BadLine),
        (
            "predicted: 4\npredicted: 4\npredicted: 4\npredicted: 4\npredicted: 4",
            Reason::BadLine,
        ),
    ];
    for (answer, reason) in cases {
        let result = instrument(program, &Proposal::Answer(answer.to_owned()), &nonce()).unwrap();
        assert_eq!((result.way, result.reason), (Way::Tree, reason), "{answer}");
        assert_eq!(result.markers, [Marker::Imported, Marker::TrainedModel]);
    }
    let result = instrument(program, &Proposal::Unavailable, &nonce()).unwrap();
    assert_eq!((result.way, result.reason), (Way::Tree, Reason::Unavailable));
}

#[test]
fn nonces_are_32_hex_digits_and_never_the_same() {
    let nonces: std::collections::BTreeSet<String> = (0..1000).map(|_| draw_nonce().0).collect();
    assert_eq!(nonces.len(), 1000);
    assert!(
        nonces
            .iter()
            .all(|nonce| nonce.len() == 32 && nonce.chars().all(|c| c.is_ascii_hexdigit()))
    );
}
