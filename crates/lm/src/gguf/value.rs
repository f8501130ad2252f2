//! What can a metadata value be?

/// A metadata value. Integers and floats of all widths are widened.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// u8, u16, u32 or u64.
    Unsigned(u64),
    /// i8, i16, i32 or i64.
    Signed(i64),
    /// f32 or f64.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// UTF-8 text.
    String(String),
    /// Values of one type.
    Array(Array),
}

/// The elements of an array value.
#[derive(Debug, Clone, PartialEq)]
pub enum Array {
    /// u8, u16, u32 or u64.
    Unsigned(Vec<u64>),
    /// i8, i16, i32 or i64.
    Signed(Vec<i64>),
    /// f32 or f64.
    Floats(Vec<f64>),
    /// Truth values.
    Bools(Vec<bool>),
    /// UTF-8 texts.
    Strings(Vec<String>),
}

impl Value {
    /// The kind of value, and the value if it is short: for error messages.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Unsigned(n) => format!("the integer `{n}`"),
            Self::Signed(n) => format!("the integer `{n}`"),
            Self::Float(x) => format!("the number `{x}`"),
            Self::Bool(b) => format!("`{b}`"),
            Self::String(text) => {
                let start: String = text.chars().take(40).collect();
                format!("the string `{}`", start.escape_debug())
            }
            Self::Array(Array::Unsigned(v)) => format!("an array of {} integers", v.len()),
            Self::Array(Array::Signed(v)) => format!("an array of {} integers", v.len()),
            Self::Array(Array::Floats(v)) => format!("an array of {} numbers", v.len()),
            Self::Array(Array::Bools(v)) => format!("an array of {} truth values", v.len()),
            Self::Array(Array::Strings(v)) => format!("an array of {} strings", v.len()),
        }
    }
}
