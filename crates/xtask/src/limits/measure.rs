//! Counts lines, methods and fields of one crate by parsing every file its `mod` declarations reach.
//!
//! Test-only items (`#[cfg(test)]`, `#[test]`) are left out together with the files they declare. Items inside of
//! function bodies and items that macros generate are not seen.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use syn::spanned::Spanned;
use syn::{Attribute, Fields, ImplItem, Item, Meta, TraitItem, Type, UseTree};

use super::source_module::{CrateSource, SourceModule};
use super::type_table::{ModulePath, TypeTable};
use super::{Metric, Size};

/// Returns every value of a crate: its lines, and the methods and fields of each type.
pub(super) fn measure(source: &CrateSource) -> Result<Vec<Size>> {
    let mut counter = CrateCounter::default();
    for root in &source.roots {
        counter.count_file(&SourceModule::root(root))?;
    }
    Ok(counter.into_sizes(&source.name))
}

#[derive(Debug, Default)]
struct CrateCounter {
    lines: usize,
    types: TypeTable,
    fields: Vec<(String, usize)>,
    visited: HashSet<PathBuf>,
}

impl CrateCounter {
    fn count_file(&mut self, module: &SourceModule) -> Result<()> {
        if !self.visited.insert(module.file.clone()) {
            return Ok(());
        }
        let name = module.file.display();
        let text =
            fs::read_to_string(&module.file).with_context(|| format!("cannot read {name}"))?;
        self.count_text(module, &text)
            .with_context(|| format!("cannot measure {name}"))
    }

    fn count_text(&mut self, module: &SourceModule, text: &str) -> Result<()> {
        let file = syn::parse_file(text)?;
        if is_test_only(&file.attrs) {
            return Ok(());
        }
        let test_lines = self.count_items(module, &file.items)?;
        self.lines += text.lines().count() - test_lines;
        Ok(())
    }

    /// Records the items of a module and returns how many lines are test-only.
    fn count_items(&mut self, module: &SourceModule, items: &[Item]) -> Result<usize> {
        let mut test_lines = 0;
        for item in items {
            if is_test_only(attributes(item)) {
                test_lines += line_count(item);
            } else {
                test_lines += self.count_item(module, item)?;
            }
        }
        Ok(test_lines)
    }

    fn count_item(&mut self, module: &SourceModule, item: &Item) -> Result<usize> {
        match item {
            Item::Mod(declared) => {
                let name = declared.ident.to_string();
                match &declared.content {
                    Some((_, items)) => {
                        return self.count_items(&module.inline_child(&name), items);
                    }
                    None => self.count_file(&module.child(&name, &declared.attrs))?,
                }
            }
            Item::Struct(defined) => {
                let name = defined.ident.to_string();
                self.fields
                    .push((name.clone(), field_count(&defined.fields)));
                self.types.define(&module.path, name);
            }
            Item::Enum(defined) => {
                let name = defined.ident.to_string();
                for variant in &defined.variants {
                    let name = format!("{name}::{}", variant.ident);
                    self.fields.push((name, field_count(&variant.fields)));
                }
                self.types.define(&module.path, name);
            }
            Item::Trait(defined) => {
                let name = defined.ident.to_string();
                let is_method = |item: &&TraitItem| matches!(item, TraitItem::Fn(_));
                let methods = defined.items.iter().filter(is_method).count();
                self.types.define(&module.path, name.clone());
                self.types.add_methods(&module.path, vec![name], methods);
            }
            Item::Impl(block) => return Ok(self.count_impl(module, block)),
            Item::Use(declared) => self.record_use(&module.path, Vec::new(), &declared.tree),
            _ => {}
        }
        Ok(0)
    }

    /// Records the methods of an inherent block and returns how many lines of the block are test-only.
    fn count_impl(&mut self, module: &SourceModule, block: &syn::ItemImpl) -> usize {
        let mut methods = 0;
        let mut test_lines = 0;
        for item in &block.items {
            if let ImplItem::Fn(method) = item {
                if is_test_only(&method.attrs) {
                    test_lines += line_count(item);
                } else {
                    methods += 1;
                }
            }
        }
        if block.trait_.is_none()
            && let Type::Path(implemented) = &*block.self_ty
        {
            let path = implemented.path.segments.iter();
            let path = path.map(|segment| segment.ident.to_string()).collect();
            self.types.add_methods(&module.path, path, methods);
        }
        test_lines
    }

    fn record_use(&mut self, module: &ModulePath, mut prefix: Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.record_use(module, prefix, &path.tree);
            }
            UseTree::Name(name) => {
                let name = name.ident.to_string();
                prefix.push(name.clone());
                self.types.import(module, name, prefix);
            }
            UseTree::Rename(rename) => {
                prefix.push(rename.ident.to_string());
                self.types.import(module, rename.rename.to_string(), prefix);
            }
            UseTree::Glob(_) => self.types.import_all(module, prefix),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.record_use(module, prefix.clone(), tree);
                }
            }
        }
    }

    fn into_sizes(self, name: &str) -> Vec<Size> {
        let size = |metric| {
            move |(of, value): (String, usize)| Size {
                metric,
                name: format!("{name}::{of}"),
                value,
            }
        };
        let mut sizes = vec![Size {
            metric: Metric::Lines,
            name: name.to_owned(),
            value: self.lines,
        }];
        sizes.extend(
            self.types
                .method_counts()
                .into_iter()
                .map(size(Metric::Methods)),
        );
        sizes.extend(self.fields.into_iter().map(size(Metric::Fields)));
        sizes
    }
}

fn field_count(fields: &Fields) -> usize {
    fields
        .iter()
        .filter(|field| !is_test_only(&field.attrs))
        .count()
}

fn line_count(item: &impl Spanned) -> usize {
    let span = item.span();
    span.end().line + 1 - span.start().line
}

/// Whether an item exists only in test builds.
fn is_test_only(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        if attribute.path().is_ident("test") {
            return true;
        }
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<Meta>()
                .is_ok_and(|condition| requires_test(&condition))
    })
}

/// Whether a `cfg` condition is false in every build that is not a test.
fn requires_test(condition: &Meta) -> bool {
    use syn::Token;
    use syn::punctuated::Punctuated;

    match condition {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("all") => list
            .parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated)
            .is_ok_and(|conditions| conditions.iter().any(requires_test)),
        Meta::List(_) | Meta::NameValue(_) => false,
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;
