//! Whether a program gives the name `print` another meaning.

use ruff_python_ast::{
    Alias, ExceptHandler, Expr, ExprContext, ModModule, Parameter, Pattern, Stmt,
    visitor::{self, Visitor},
};

/// Whether `print` is bound anywhere: assigned, deleted, defined, imported, declared global, a parameter, or set on a
/// module. In such a program a marker print could change what the program does (a local `print` that is not yet set)
/// or be seen by the program, so it gets no markers: they are lost, never gained.
pub fn is_rebound(module: &ModModule) -> bool {
    let mut bindings = Bindings(false);
    bindings.visit_body(&module.body);
    bindings.0
}

struct Bindings(bool);

impl Bindings {
    fn bind(&mut self, name: &str) {
        self.0 |= name == "print";
    }
}

impl<'a> Visitor<'a> for Bindings {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        match statement {
            Stmt::FunctionDef(function) => self.bind(&function.name),
            Stmt::ClassDef(class) => self.bind(&class.name),
            Stmt::Global(global) => global.names.iter().for_each(|name| self.bind(name)),
            Stmt::Nonlocal(nonlocal) => nonlocal.names.iter().for_each(|name| self.bind(name)),
            _ => {}
        }
        visitor::walk_stmt(self, statement);
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        match expression {
            Expr::Name(name) if name.ctx != ExprContext::Load => self.bind(&name.id),
            Expr::Attribute(attribute) if attribute.ctx != ExprContext::Load => self.bind(&attribute.attr),
            _ => {}
        }
        visitor::walk_expr(self, expression);
    }

    fn visit_alias(&mut self, alias: &'a Alias) {
        self.bind(alias.asname.as_ref().unwrap_or(&alias.name));
    }

    fn visit_parameter(&mut self, parameter: &'a Parameter) {
        self.bind(&parameter.name);
        visitor::walk_parameter(self, parameter);
    }

    fn visit_except_handler(&mut self, handler: &'a ExceptHandler) {
        let ExceptHandler::ExceptHandler(inner) = handler;
        if let Some(name) = &inner.name {
            self.bind(name);
        }
        visitor::walk_except_handler(self, handler);
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        let name = match pattern {
            Pattern::MatchAs(capture) => capture.name.as_ref(),
            Pattern::MatchStar(capture) => capture.name.as_ref(),
            Pattern::MatchMapping(capture) => capture.rest.as_ref(),
            _ => None,
        };
        if let Some(name) = name {
            self.bind(name);
        }
        visitor::walk_pattern(self, pattern);
    }
}
