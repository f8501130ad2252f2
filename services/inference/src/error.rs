//! Why a request was not answered.

use journeyman_schemas::fault::{Fault, FaultCode};

/// A refusal or failure; a wrong field is kept apart so that HTTP can name it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// A field has a value that is not allowed.
    #[error("{field} is `{value}`: it must be {allowed}")]
    Field {
        /// Name of the field.
        field: String,
        /// Its value, shortened.
        value: String,
        /// What is allowed.
        allowed: String,
    },
    /// Anything else.
    #[error("{}", .0.message)]
    Fault(#[from] Fault),
}

impl AnswerError {
    /// A wrong field.
    pub fn field(field: impl Into<String>, value: impl ToString, allowed: impl Into<String>) -> Self {
        let mut value = value.to_string();
        if let Some((cut, _)) = value.char_indices().nth(80) {
            value.truncate(cut);
            value.push('…');
        }
        Self::Field {
            field: field.into(),
            value,
            allowed: allowed.into(),
        }
    }

    /// A rule broken by more than one field.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::Fault(Fault::new(FaultCode::Invalid, message))
    }

    /// Which kind.
    pub fn code(&self) -> FaultCode {
        match self {
            Self::Field { .. } => FaultCode::Invalid,
            Self::Fault(fault) => fault.code,
        }
    }
}

impl From<AnswerError> for Fault {
    fn from(error: AnswerError) -> Fault {
        match error {
            AnswerError::Fault(fault) => fault,
            field => Fault::new(FaultCode::Invalid, field.to_string()),
        }
    }
}
