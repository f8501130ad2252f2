use super::{Progress, Prompts};

const PROGRESS: Progress<'static> = Progress {
    description: "# A task\n",
    program: Some("x = 1\n"),
    output: Some("hello\n"),
    score: Some(0.8421),
    query: "",
};

fn user(progress: &Progress<'_>) -> String {
    Prompts::new()
        .unwrap()
        .render(progress)
        .unwrap()
        .remove(1)
        .content
}

#[test]
fn prompt_shows_program_score_and_output() {
    let text = user(&PROGRESS);
    assert!(text.starts_with(
        "# A task\n\n## Present program\n\n```python\nx = 1\n```\n\nIts score is 0.8421.\n\nIt printed:\n\n```\nhello\n```\n\nGive the one idea"
    ), "{text}");
    assert!(
        text.contains("\nANALYSIS_ON_CURRENT_PROGRESS: ")
            && text.contains("\nACTION: ")
            && text.contains("\nRATIONALE: ")
    );
}

#[test]
fn prompt_tells_what_is_missing() {
    let text = user(&Progress {
        score: None,
        output: None,
        query: "What now?",
        ..PROGRESS
    });
    assert!(
        text.contains(
            "```\n\nIt wrote no valid submission.\n\n## Question\n\nWhat now?\n\nGive the one idea"
        ),
        "{text}"
    );
    let text = user(&Progress {
        program: None,
        ..PROGRESS
    });
    assert!(
        text.starts_with("# A task\n\nThere is no program yet.\n\nGive the one idea"),
        "{text}"
    );
}
