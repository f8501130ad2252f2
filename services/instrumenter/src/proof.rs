//! Proves that a program with markers is the program without them, and nothing else.

use journeyman_schemas::execution::{Marker, Nonce};
use ruff_python_ast::{
    ExceptHandler, Expr, ExprCall, ModModule, Stmt, Suite, comparable::ComparableModModule,
};

use crate::tree::parse;

/// Why a program with markers is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofError {
    /// It is no Python.
    #[error("program with markers does not parse")]
    Broken,
    /// Without its markers it is another program.
    #[error("program without its markers is not the original")]
    Changed,
    /// A marker stands before a docstring or a `from __future__ import`, which must come first.
    #[error("a marker stands before what must come first")]
    First,
}

/// Compares the trees of the original and of `instrumented` without its marker prints, source positions apart.
/// Returns the markers that are in it, in the order in which they count.
pub fn prove(original: &ModModule, instrumented: &str, nonce: &Nonce) -> Result<Vec<Marker>, ProofError> {
    let mut tree = parse(instrumented).map_err(|_| ProofError::Broken)?.into_syntax();
    let before_future = marker_before_future(&tree.body, nonce);
    let mut stripper = Stripper {
        nonce,
        found: Vec::new(),
        first: false,
    };
    stripper.strip(&mut tree.body);
    if stripper.first || before_future {
        return Err(ProofError::First);
    }
    if ComparableModModule::from(original) != ComparableModModule::from(&tree) {
        return Err(ProofError::Changed);
    }
    let mut markers = stripper.found;
    markers.sort();
    markers.dedup();
    Ok(markers)
}

/// The marker that `statement` prints, when it is exactly `print("<nonce> <word>", flush=True)`.
fn marker_of(statement: &Stmt, nonce: &Nonce) -> Option<Marker> {
    let Stmt::Expr(statement) = statement else {
        return None;
    };
    let Expr::Call(ExprCall { func, arguments, .. }) = &*statement.value else {
        return None;
    };
    let Expr::Name(name) = &**func else { return None };
    let ([Expr::StringLiteral(text)], [flush]) = (&*arguments.args, &*arguments.keywords) else {
        return None;
    };
    let flushes = flush.arg.as_ref().is_some_and(|arg| arg == "flush")
        && matches!(&flush.value, Expr::BooleanLiteral(literal) if literal.value);
    if name.id != "print" || !flushes {
        return None;
    }
    Marker::ALL
        .into_iter()
        .find(|marker| text.value.to_str() == marker.line(nonce))
}

/// A late `from __future__ import` is refused by Python when it compiles, not by the parser.
fn marker_before_future(body: &[Stmt], nonce: &Nonce) -> bool {
    let first = body
        .iter()
        .position(|statement| marker_of(statement, nonce).is_some());
    let future = body.iter().rposition(is_future_import);
    matches!((first, future), (Some(first), Some(future)) if first < future)
}

/// Whether `statement` is a `from __future__ import`.
pub fn is_future_import(statement: &Stmt) -> bool {
    let Stmt::ImportFrom(import) = statement else {
        return false;
    };
    import
        .module
        .as_ref()
        .is_some_and(|module| module == "__future__")
}

struct Stripper<'a> {
    nonce: &'a Nonce,
    found: Vec<Marker>,
    /// Whether a body began with a marker.
    first: bool,
}

impl Stripper<'_> {
    fn strip(&mut self, body: &mut Suite) {
        self.first |= body
            .first()
            .is_some_and(|statement| marker_of(statement, self.nonce).is_some());
        body.retain(|statement| match marker_of(statement, self.nonce) {
            Some(marker) => {
                self.found.push(marker);
                false
            }
            None => true,
        });
        for statement in body {
            self.strip_inside(statement);
        }
    }

    fn strip_inside(&mut self, statement: &mut Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.strip(&mut function.body),
            Stmt::ClassDef(class) => self.strip(&mut class.body),
            Stmt::For(each) => {
                self.strip(&mut each.body);
                self.strip(&mut each.orelse);
            }
            Stmt::While(each) => {
                self.strip(&mut each.body);
                self.strip(&mut each.orelse);
            }
            Stmt::If(branch) => {
                self.strip(&mut branch.body);
                for clause in &mut branch.elif_else_clauses {
                    self.strip(&mut clause.body);
                }
            }
            Stmt::With(with) => self.strip(&mut with.body),
            Stmt::Match(choice) => {
                for case in &mut choice.cases {
                    self.strip(&mut case.body);
                }
            }
            Stmt::Try(attempt) => {
                self.strip(&mut attempt.body);
                for ExceptHandler::ExceptHandler(handler) in &mut attempt.handlers {
                    self.strip(&mut handler.body);
                }
                self.strip(&mut attempt.orelse);
                self.strip(&mut attempt.finalbody);
            }
            Stmt::Return(_)
            | Stmt::Delete(_)
            | Stmt::TypeAlias(_)
            | Stmt::Assign(_)
            | Stmt::AugAssign(_)
            | Stmt::AnnAssign(_)
            | Stmt::Raise(_)
            | Stmt::Assert(_)
            | Stmt::Import(_)
            | Stmt::ImportFrom(_)
            | Stmt::Global(_)
            | Stmt::Nonlocal(_)
            | Stmt::Expr(_)
            | Stmt::Pass(_)
            | Stmt::Break(_)
            | Stmt::Continue(_)
            | Stmt::IpyEscapeCommand(_) => {}
        }
    }
}
