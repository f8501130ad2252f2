use journeyman_schemas::ideate::Idea;

use super::{Earlier, Prompts, Sections};

const SCRATCH: Sections<'static> = Sections {
    description: "# A task\n\nPredict <things> & \"more\".\n",
    data_snippet: "data/train.csv: 3 rows.\n",
    starter_code: "import pandas as pd\n\n# TODO\n",
    earlier: None,
    idea: None,
};

fn user(sections: &Sections<'_>) -> String {
    let messages = Prompts::new().unwrap().render(sections).unwrap();
    assert_eq!(
        messages
            .iter()
            .map(|message| message.role.as_str())
            .collect::<Vec<_>>(),
        ["system", "user"]
    );
    assert!(
        messages[0]
            .content
            .starts_with("You are a machine-learning engineer.")
    );
    messages[1].content.clone()
}

#[test]
fn scratch_prompt_has_task_data_and_starter() {
    assert_eq!(
        user(&SCRATCH),
        "# A task\n\nPredict <things> & \"more\".\n\n## Data\n\ndata/train.csv: 3 rows.\n\n## Starter code\n\n\
         ```python\nimport pandas as pd\n\n# TODO\n```\n\n\
         Complete the starter code: keep its lines and write the missing part. Answer with the whole program in one \
         ```python block and nothing else."
    );
}

#[test]
fn improve_prompt_shows_the_earlier_program_in_place_of_the_starter() {
    let earlier = Earlier {
        program: "x = 1\n",
        output: Some("fitting\n"),
        score: Some(0.912345),
    };
    let text = user(&Sections {
        earlier: Some(earlier),
        ..SCRATCH
    });
    assert!(text.contains(
        "## Earlier program\n\nIts score is 0.9123.\n\n```python\nx = 1\n```\n\nIt printed:\n\n```\nfitting\n```\n\n\
         Write a better program: improve the score"
    ), "{text}");
    assert!(!text.contains("Starter code"));
}

#[test]
fn improve_prompt_of_an_invalid_program_keeps_the_starter() {
    for output in [None, Some("")] {
        let earlier = Earlier {
            program: "x = 1",
            output,
            score: None,
        };
        let text = user(&Sections {
            earlier: Some(earlier),
            ..SCRATCH
        });
        assert!(text.contains("It wrote no valid submission.\n\n```python\nx = 1\n```\n\nWrite a better program: find the fault"), "{text}");
        assert!(text.contains("## Starter code"));
        assert!(!text.contains("It printed"));
    }
}

#[test]
fn idea_prompt_shows_what_to_do_and_why() {
    let idea = Idea {
        analysis: "It is poor.".into(),
        action: "Use {{ boosting }}.".into(),
        rationale: "It wins.".into(),
    };
    let earlier = Earlier {
        program: "x = 1",
        output: None,
        score: Some(1.0),
    };
    let text = user(&Sections {
        earlier: Some(earlier),
        idea: Some(&idea),
        ..SCRATCH
    });
    assert!(
        text.contains("## Idea\n\nUse {{ boosting }}.\n\nWhy: It wins.\n\nCarry out the idea. Answer"),
        "{text}"
    );
    assert!(!text.contains("It is poor."));
}
