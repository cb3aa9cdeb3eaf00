//! Detects the exports of a CommonJS file by static analysis.
//!
//! ES modules link by name before any code runs, so the exports of a CommonJS file must be known
//! from its source: assignments to `exports`, object literals, getters emitted by compilers, and
//! re-exports. Names missed here are added when an importer requests them.

use oxc_ast::ast::{
    Argument, AssignmentExpression, AssignmentTarget, CallExpression, Expression, ObjectExpression,
    ObjectPropertyKind, Program,
};
use oxc_ast_visit::{Visit, walk};
use serde::{Deserialize, Serialize};

/// Exported names and re-exports of a CommonJS file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommonJsExports {
    /// Excludes `default`.
    pub names: Vec<String>,
    /// Specifiers whose exports are re-exported.
    pub reexports: Vec<String>,
}

pub(crate) fn find(program: &Program<'_>) -> CommonJsExports {
    let mut finder = ExportFinder::default();
    finder.visit_program(program);
    finder.found.names.sort_unstable();
    finder.found.names.dedup();
    finder.found
}

#[derive(Default)]
struct ExportFinder {
    found: CommonJsExports,
}

impl ExportFinder {
    fn add(&mut self, name: &str) {
        if name != "default" {
            self.found.names.push(name.to_owned());
        }
    }

    fn add_reexport(&mut self, specifier: &str) {
        self.found.reexports.push(specifier.to_owned());
    }

    fn add_keys(&mut self, object: &ObjectExpression<'_>) {
        for property in &object.properties {
            match property {
                ObjectPropertyKind::ObjectProperty(property) => {
                    if let Some(name) = property.key.static_name() {
                        self.add(&name);
                    }
                }
                ObjectPropertyKind::SpreadProperty(spread) => {
                    if let Some(specifier) = required(&spread.argument) {
                        self.add_reexport(specifier);
                    }
                }
            }
        }
    }
}

impl<'a> Visit<'a> for ExportFinder {
    fn visit_assignment_expression(&mut self, assignment: &AssignmentExpression<'a>) {
        match &assignment.left {
            AssignmentTarget::StaticMemberExpression(member) => {
                if is_exports(&member.object) {
                    self.add(&member.property.name);
                } else if is_identifier(&member.object, "module")
                    && member.property.name == "exports"
                {
                    match &assignment.right {
                        Expression::ObjectExpression(object) => self.add_keys(object),
                        other => {
                            if let Some(specifier) = required(other) {
                                self.add_reexport(specifier);
                            }
                        }
                    }
                }
            }
            AssignmentTarget::ComputedMemberExpression(member) if is_exports(&member.object) => {
                if let Expression::StringLiteral(name) = &member.expression {
                    self.add(&name.value);
                }
            }
            _ => {}
        }
        walk::walk_assignment_expression(self, assignment);
    }

    fn visit_call_expression(&mut self, call: &CallExpression<'a>) {
        let arguments: Vec<&Expression<'_>> = call
            .arguments
            .iter()
            .filter_map(Argument::as_expression)
            .collect();
        match (callee_name(&call.callee), arguments.as_slice()) {
            // Object.defineProperty(exports, "name", …)
            (Some("defineProperty"), [target, Expression::StringLiteral(name), ..])
                if is_exports(target) =>
            {
                self.add(&name.value);
            }
            // Compiler output: __export(target, { name: () => name }).
            (Some("__export"), [_, Expression::ObjectExpression(object), ..]) => {
                self.add_keys(object);
            }
            // __exportStar(require("./file"), exports), __reExport(target, require("./file"))
            (Some("__exportStar" | "__reExport" | "__export"), arguments) => {
                for argument in arguments {
                    if let Some(specifier) = required(argument) {
                        self.add_reexport(specifier);
                    }
                }
            }
            _ => {}
        }
        walk::walk_call_expression(self, call);
    }
}

fn callee_name<'a>(callee: &'a Expression<'_>) -> Option<&'a str> {
    match callee {
        Expression::Identifier(identifier) => Some(identifier.name.as_str()),
        Expression::StaticMemberExpression(member) => Some(member.property.name.as_str()),
        Expression::ParenthesizedExpression(inner) => callee_name(&inner.expression),
        Expression::SequenceExpression(sequence) => {
            sequence.expressions.last().and_then(callee_name)
        }
        _ => None,
    }
}

fn is_identifier(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression, Expression::Identifier(identifier) if identifier.name == name)
}

fn is_exports(expression: &Expression<'_>) -> bool {
    match expression {
        Expression::Identifier(identifier) => identifier.name == "exports",
        Expression::StaticMemberExpression(member) => {
            is_identifier(&member.object, "module") && member.property.name == "exports"
        }
        _ => false,
    }
}

/// Returns the specifier of a `require("…")`.
fn required<'a>(expression: &'a Expression<'_>) -> Option<&'a str> {
    let Expression::CallExpression(call) = expression else {
        return None;
    };
    if !is_identifier(&call.callee, "require") {
        return None;
    }
    match call.arguments.first() {
        Some(Argument::StringLiteral(specifier)) => Some(specifier.value.as_str()),
        _ => None,
    }
}
