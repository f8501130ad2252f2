use journeyman_schemas::ideate::Idea;

use super::{BadIdea, parse};

fn idea(analysis: &str, action: &str, rationale: &str) -> Idea {
    Idea {
        analysis: analysis.into(),
        action: action.into(),
        rationale: rationale.into(),
    }
}

#[test]
fn three_sections_are_an_idea() {
    let expected = Ok(idea(
        "It is a linear model.",
        "Use boosting.",
        "Trees find steps.",
    ));
    for text in [
        "ANALYSIS_ON_CURRENT_PROGRESS: It is a linear model.\nACTION: Use boosting.\nRATIONALE: Trees find steps.",
        "ANALYSIS_ON_CURRENT_PROGRESS:\nIt is a linear model.\n\nACTION:\nUse boosting.\n\nRATIONALE:\nTrees find steps.\n",
        "Sure!\n\n**ANALYSIS_ON_CURRENT_PROGRESS:** It is a linear model.\n**ACTION**: Use boosting.\n**RATIONALE:**\r\nTrees find steps.\r\n",
        "## ANALYSIS_ON_CURRENT_PROGRESS\nIt is a linear model.\n## ACTION\nUse boosting.\n## RATIONALE\nTrees find steps.",
        "1. ANALYSIS ON CURRENT PROGRESS: It is a linear model.\n2. Action: Use boosting.\n3. Rationale: Trees find steps.",
        "<ANALYSIS_ON_CURRENT_PROGRESS>\nIt is a linear model.\n</ANALYSIS_ON_CURRENT_PROGRESS>\n<ACTION>Use boosting.</ACTION>\n<RATIONALE>Trees find steps.</RATIONALE>",
    ] {
        assert_eq!(parse(text), expected, "{text}");
    }
}

#[test]
fn section_keeps_its_lines() {
    let text = "ANALYSIS_ON_CURRENT_PROGRESS: a\nb\n\n- c: d\nACTION: x\n  y\nRATIONALE: z";
    assert_eq!(parse(text), Ok(idea("a\nb\n\n- c: d", "x\n  y", "z")));
}

#[test]
fn names_inside_sentences_are_no_headings() {
    let text =
        "ANALYSIS_ON_CURRENT_PROGRESS: a\nAction is needed here.\nActions: many\nACTION: x\nRATIONALE: z";
    assert_eq!(
        parse(text),
        Ok(idea("a\nAction is needed here.\nActions: many", "x", "z"))
    );
}

#[test]
fn other_shapes_are_badly_formed() {
    const ANALYSIS: &str = "ANALYSIS_ON_CURRENT_PROGRESS";
    for (text, expected) in [
        ("", BadIdea::Missing(ANALYSIS)),
        ("Use boosting.", BadIdea::Missing(ANALYSIS)),
        ("ACTION: x\nRATIONALE: y", BadIdea::Missing(ANALYSIS)),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nRATIONALE: y",
            BadIdea::Missing("ACTION"),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nACTION: y",
            BadIdea::Missing("RATIONALE"),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nACTION:\nRATIONALE: y",
            BadIdea::Empty("ACTION"),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: ...\nACTION: b\nRATIONALE: y",
            BadIdea::Empty(ANALYSIS),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nACTION: b\nRATIONALE: ",
            BadIdea::Empty("RATIONALE"),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nACTION: b\nACTION: c\nRATIONALE: y",
            BadIdea::Order("ACTION"),
        ),
        (
            "ANALYSIS_ON_CURRENT_PROGRESS: a\nACTION: b\nRATIONALE: y\nACTION: c",
            BadIdea::Order("ACTION"),
        ),
    ] {
        assert_eq!(parse(text), Err(expected), "{text}");
    }
}

#[test]
fn any_text_is_read_without_harm() {
    let parts = [
        "ANALYSIS_ON_CURRENT_PROGRESS",
        "ACTION",
        "rationale",
        ":",
        "\n",
        "é",
        "<",
        "</",
        ">",
        "**",
        " ",
        "1.",
    ];
    let mut seed = 7u64;
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..16 {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            text.push_str(parts[(seed >> 33) as usize % parts.len()]);
        }
        if let Ok(idea) = parse(&text) {
            assert!(!idea.action.is_empty(), "{text:?}");
        }
    }
}
