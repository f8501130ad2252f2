//! Finds where a program's markers go: after the statements that take the steps, at any depth.

use std::collections::BTreeSet;

use journeyman_schemas::execution::Marker;
use ruff_python_ast::{ExceptHandler, ModModule, Stmt};
use ruff_text_size::{Ranged, TextRange};

use crate::{
    insert::Site,
    proof::is_future_import,
    steps::{Steps, opens_submission},
};

/// The sites of every marker, from the syntax tree alone.
///
/// A step inside a `return` counts where the function is called, since nothing runs after a `return`. Steps in the head
/// of a compound statement (`for chunk in read_csv(...)`) have no site: nothing follows them at once.
pub fn sites(module: &ModModule) -> Vec<Site> {
    let mut finder = Finder {
        steps: Steps::of(module),
        sites: Vec::new(),
    };
    finder.body(&module.body, 0);
    let mut sites = finder.sites;
    sites.extend(imported(module, &sites));
    sites
}

/// Calls `visit` for each body directly inside `statement`.
pub fn bodies<'a>(statement: &'a Stmt, mut visit: impl FnMut(&'a [Stmt])) {
    match statement {
        Stmt::FunctionDef(function) => visit(&function.body),
        Stmt::ClassDef(class) => visit(&class.body),
        Stmt::For(each) => {
            visit(&each.body);
            visit(&each.orelse);
        }
        Stmt::While(each) => {
            visit(&each.body);
            visit(&each.orelse);
        }
        Stmt::If(branch) => {
            visit(&branch.body);
            branch
                .elif_else_clauses
                .iter()
                .for_each(|clause| visit(&clause.body));
        }
        Stmt::With(with) => visit(&with.body),
        Stmt::Match(choice) => choice.cases.iter().for_each(|case| visit(&case.body)),
        Stmt::Try(attempt) => {
            visit(&attempt.body);
            for ExceptHandler::ExceptHandler(handler) in &attempt.handlers {
                visit(&handler.body);
            }
            visit(&attempt.orelse);
            visit(&attempt.finalbody);
        }
        _ => {}
    }
}

struct Finder {
    steps: Steps,
    sites: Vec<Site>,
}

impl Finder {
    fn body(&mut self, body: &[Stmt], depth: usize) {
        for statement in body {
            let range = statement.range();
            self.sites
                .extend(self.markers(statement).into_iter().map(|marker| Site {
                    marker,
                    statement: range,
                    depth,
                }));
            bodies(statement, |inner| self.body(inner, depth + 1));
        }
    }

    /// The steps that have been taken once `statement` has run, those of its bodies apart.
    fn markers(&self, statement: &Stmt) -> BTreeSet<Marker> {
        let mut markers = BTreeSet::new();
        match statement {
            Stmt::Expr(statement) => markers.extend(self.steps.markers(&statement.value)),
            Stmt::Assign(assign) => {
                markers.extend(self.steps.markers(&assign.value));
                markers.extend(
                    assign
                        .targets
                        .iter()
                        .filter_map(|target| self.steps.assigned(target, &assign.value)),
                );
            }
            Stmt::AnnAssign(assign) => {
                if let Some(value) = &assign.value {
                    markers.extend(self.steps.markers(value));
                    markers.extend(self.steps.assigned(&assign.target, value));
                }
            }
            Stmt::AugAssign(assign) => markers.extend(self.steps.markers(&assign.value)),
            Stmt::With(with) if with.items.iter().any(|item| opens_submission(&item.context_expr)) => {
                markers.insert(Marker::WroteSubmission);
            }
            _ => {}
        }
        markers
    }
}

/// After the last top-level import that stands before the first other step, so that the markers keep their order; in a
/// program without top-level imports, after the last import of the first body that has one.
fn imported(module: &ModModule, others: &[Site]) -> Option<Site> {
    let takes_step = |statement: &Stmt| {
        let range = statement.range();
        !matches!(statement, Stmt::FunctionDef(_) | Stmt::ClassDef(_))
            && others.iter().any(|site| range.contains_range(site.statement))
    };
    let leading = module.body.iter().take_while(|statement| !takes_step(statement));
    if let Some(import) = leading.filter(|statement| is_import(statement)).last() {
        return Some(Site {
            marker: Marker::Imported,
            statement: import.range(),
            depth: 0,
        });
    }
    first_body_with_import(&module.body, 0).map(|(statement, depth)| Site {
        marker: Marker::Imported,
        statement,
        depth,
    })
}

fn first_body_with_import(body: &[Stmt], depth: usize) -> Option<(TextRange, usize)> {
    if let Some(import) = body.iter().rfind(|statement| is_import(statement)) {
        return Some((import.range(), depth));
    }
    let mut found = None;
    for statement in body {
        bodies(statement, |inner| {
            if found.is_none() {
                found = first_body_with_import(inner, depth + 1);
            }
        });
    }
    found
}

fn is_import(statement: &Stmt) -> bool {
    matches!(statement, Stmt::Import(_) | Stmt::ImportFrom(_)) && !is_future_import(statement)
}
