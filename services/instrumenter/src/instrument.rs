//! Puts progress markers into a program, from the syntax tree or as a frozen model proposes, and proves the result.

use journeyman_schemas::execution::{Marker, Nonce};
use rand::Rng;

use crate::{
    insert::insert,
    print::is_rebound,
    proof::{ProofError, prove},
    proposal::{self, AnswerError},
    sites,
    tree::{PROGRAM_LIMIT_BYTES, SyntaxError, parse},
};

/// A program with its markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instrumented {
    /// What runs.
    pub program: String,
    /// Markers that are in it, in the order in which they count.
    pub markers: Vec<Marker>,
    /// Who said where they go.
    pub way: Way,
    /// Why this way.
    pub reason: Reason,
}

/// Who said where the markers go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// A frozen model.
    Model,
    /// The syntax tree.
    Tree,
    /// Nobody: there are none.
    None,
}

impl Way {
    /// Every way.
    pub const ALL: [Way; 3] = [Way::Model, Way::Tree, Way::None];

    /// The word in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Way::Model => "model",
            Way::Tree => "tree",
            Way::None => "none",
        }
    }
}

/// Why a program was instrumented the way it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// The model's proposal was proved.
    Accepted,
    /// The model was not asked for this rollout.
    NotAsked,
    /// The model could not be asked.
    Unavailable,
    /// Its answer named no step.
    NoAnswer,
    /// Its answer named a line where no such statement ends, or a step too often.
    BadLine,
    /// Its proposal would have changed the program.
    Changed,
    /// The program is too long for the model, or for the parser when there are no markers.
    TooLong,
    /// The program gives `print` another meaning.
    PrintRebound,
    /// The program takes none of the steps.
    NoStep,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Reason; 9] = [
        Reason::Accepted,
        Reason::NotAsked,
        Reason::Unavailable,
        Reason::NoAnswer,
        Reason::BadLine,
        Reason::Changed,
        Reason::TooLong,
        Reason::PrintRebound,
        Reason::NoStep,
    ];

    /// The word in metric labels.
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Accepted => "accepted",
            Reason::NotAsked => "not_asked",
            Reason::Unavailable => "unavailable",
            Reason::NoAnswer => "no_answer",
            Reason::BadLine => "bad_line",
            Reason::Changed => "changed",
            Reason::TooLong => "too_long",
            Reason::PrintRebound => "print_rebound",
            Reason::NoStep => "no_step",
        }
    }
}

/// What the frozen model had to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proposal {
    /// It was not asked for this rollout.
    NotAsked,
    /// It was not asked, since the program is too long for it.
    TooLong,
    /// It was asked and did not answer.
    Unavailable,
    /// Its answer.
    Answer(String),
}

/// A fresh secret word: 128 bits of the operating system's randomness, as 32 hex digits.
pub fn draw_nonce() -> Nonce {
    let mut bytes = [0; 16];
    rand::rng().fill_bytes(&mut bytes);
    Nonce(format!("{:032x}", u128::from_be_bytes(bytes)))
}

/// Puts markers into `program`: as `proposal` says if that is proved, else from the syntax tree, else none. Every
/// result but the last was parsed again and equals the original once its marker prints are taken out.
pub fn instrument(program: &str, proposal: &Proposal, nonce: &Nonce) -> Result<Instrumented, SyntaxError> {
    let without = |reason| Instrumented {
        program: program.to_owned(),
        markers: Vec::new(),
        way: Way::None,
        reason,
    };
    if program.len() > PROGRAM_LIMIT_BYTES {
        return Ok(without(Reason::TooLong));
    }
    let parsed = parse(program)?;
    if is_rebound(parsed.syntax()) {
        return Ok(without(Reason::PrintRebound));
    }
    let place = |sites: &[_]| -> Result<(String, Vec<Marker>), ProofError> {
        let text = insert(program, parsed.tokens(), sites, nonce);
        let markers = prove(parsed.syntax(), &text, nonce)?;
        Ok((text, markers))
    };

    let reason = match proposal {
        Proposal::NotAsked => Reason::NotAsked,
        Proposal::TooLong => Reason::TooLong,
        Proposal::Unavailable => Reason::Unavailable,
        Proposal::Answer(answer) => match proposal::sites(answer, program, parsed.syntax()) {
            Err(AnswerError::Empty) => Reason::NoAnswer,
            Err(AnswerError::BadLine { .. } | AnswerError::TooMany(_)) => Reason::BadLine,
            Ok(sites) => match place(&sites) {
                Err(_) => Reason::Changed,
                Ok((program, markers)) => {
                    return Ok(Instrumented {
                        program,
                        markers,
                        way: Way::Model,
                        reason: Reason::Accepted,
                    });
                }
            },
        },
    };
    Ok(match place(&sites::sites(parsed.syntax())) {
        Ok((_, markers)) if markers.is_empty() => without(Reason::NoStep),
        Ok((program, markers)) => Instrumented {
            program,
            markers,
            way: Way::Tree,
            reason,
        },
        Err(_) => without(Reason::Changed),
    })
}

#[cfg(test)]
mod tests;
