//! Joins modules into one script, so that a browser requests one file.
//!
//! Each module becomes a function that returns its exports, in an order in which every module comes after those it
//! imports. An import has a line to itself and names what it takes, and an `export` starts a line; a test checks it.

use std::fmt::Write as _;
use std::io;

/// Joins a module and all that it imports. `read` returns the text of a module without comments, by its path below the
/// assets.
pub(crate) fn bundle(read: &impl Fn(&str) -> io::Result<String>, main: &str) -> io::Result<String> {
    let mut bundle = Bundle {
        read,
        script: String::new(),
        joined: Vec::new(),
        open: Vec::new(),
    };
    let body = bundle.body(main)?.0;
    Ok(bundle.script + &body)
}

struct Bundle<'read, R> {
    read: &'read R,
    script: String,
    /// Modules that are in the script.
    joined: Vec<String>,
    /// Modules whose imports are being joined.
    open: Vec<String>,
}

impl<R: Fn(&str) -> io::Result<String>> Bundle<'_, R> {
    /// Joins the imports of a module. Returns its own text, and the names of its exports.
    fn body(&mut self, path: &str) -> io::Result<(String, Vec<String>)> {
        let text = (self.read)(path)?;
        let mut body = String::with_capacity(text.len());
        let mut exports = Vec::new();
        for line in text.lines() {
            if let Some(import) = line.strip_prefix("import ") {
                let (names, from) = import
                    .trim_end_matches("\";")
                    .split_once(" from \"")
                    .ok_or_else(|| invalid(path, line))?;
                let imported = resolve(path, from).ok_or_else(|| invalid(path, line))?;
                self.join(&imported)?;
                writeln!(body, "const {names} = {};", variable(&imported))
                    .map_err(io::Error::other)?;
                continue;
            }
            let declaration = line.strip_prefix("export ");
            if let Some(declaration) = declaration {
                let words = declaration.strip_prefix("async ").unwrap_or(declaration);
                let name = words.split([' ', '(']).nth(1);
                exports.push(name.ok_or_else(|| invalid(path, line))?.to_owned());
            }
            body += declaration.unwrap_or(line);
            body.push('\n');
        }
        Ok((body, exports))
    }

    fn join(&mut self, path: &str) -> io::Result<()> {
        if self.joined.iter().any(|joined| joined == path) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == path) {
            return Err(io::Error::other(format!("{path} imports itself")));
        }
        self.open.push(path.to_owned());
        let (body, exports) = self.body(path)?;
        self.open.pop();
        self.joined.push(path.to_owned());
        let (name, exports) = (variable(path), exports.join(", "));
        let written = write!(
            self.script,
            "const {name} = (() => {{\n{body}return {{ {exports} }};\n}})();\n"
        );
        written.map_err(io::Error::other)
    }
}

/// Returns the path of an imported module below the assets.
fn resolve(importer: &str, from: &str) -> Option<String> {
    if let Some(path) = from.strip_prefix("../") {
        return Some(path.to_owned());
    }
    let (folder, _) = importer.split_once('/')?;
    Some(format!("{folder}/{}", from.strip_prefix("./")?))
}

/// Returns the name of the constant that has the exports of a module.
fn variable(path: &str) -> String {
    let name = path.strip_suffix(".js").unwrap_or(path);
    format!("${}", name.replace('/', "_"))
}

fn invalid(path: &str, line: &str) -> io::Error {
    io::Error::other(format!("{path}: cannot join `{line}`"))
}
