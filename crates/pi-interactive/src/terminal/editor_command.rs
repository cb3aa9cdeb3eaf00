//! How editors open a file at a line: program and arguments, started without a shell.

use std::ffi::OsString;
use std::path::Path;

use pi_views::text::file_reference::FilePosition;

/// How an editor receives a line and a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PositionSyntax {
    /// `+LINE FILE`
    Plus,
    /// `+LINE:COLUMN FILE`
    PlusColon,
    /// `+LINE,COLUMN FILE`
    PlusComma,
    /// `FILE:LINE:COLUMN`
    Suffix,
    /// `--goto FILE:LINE:COLUMN`
    Goto,
    /// `--line LINE FILE`
    LineOption,
    /// `-nLINE FILE`
    Letter,
}

/// Where an editor is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EditorSurface {
    Terminal,
    Window,
}

use EditorSurface::{Terminal, Window};

/// Program names of editors with the same arguments. Others receive only the file, in the terminal.
const EDITORS: &[(&[&str], PositionSyntax, EditorSurface)] = &[
    (
        &["vi", "vim", "nvim", "view", "ex", "mg", "ne", "joe", "jed"],
        PositionSyntax::Plus,
        Terminal,
    ),
    (
        &["emacs", "emacsclient", "kak", "micro"],
        PositionSyntax::PlusColon,
        Terminal,
    ),
    (&["nano", "pico"], PositionSyntax::PlusComma, Terminal),
    (&["hx", "helix"], PositionSyntax::Suffix, Terminal),
    (
        &[
            "code",
            "code-insiders",
            "codium",
            "vscodium",
            "cursor",
            "windsurf",
        ],
        PositionSyntax::Goto,
        Window,
    ),
    (
        &["zed", "zeditor", "subl", "sublime_text"],
        PositionSyntax::Suffix,
        Window,
    ),
    (
        &[
            "idea",
            "pycharm",
            "webstorm",
            "clion",
            "goland",
            "rubymine",
            "phpstorm",
            "rustrover",
            "rider",
            "mate",
            "kate",
        ],
        PositionSyntax::LineOption,
        Window,
    ),
    (
        &[
            "gvim",
            "mvim",
            "gedit",
            "gnome-text-editor",
            "xed",
            "pluma",
            "bbedit",
        ],
        PositionSyntax::Plus,
        Window,
    ),
    (&["notepad++"], PositionSyntax::Letter, Window),
];

/// Options that keep an editor with a window running until the file is closed.
const WAIT_OPTIONS: [&str; 3] = ["--wait", "-w", "--block"];

/// An editor and its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EditorCommand {
    pub(crate) program: String,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) surface: EditorSurface,
}

impl EditorCommand {
    /// Returns what opens a file in the editor of a setting such as `code --wait`; `None` if that names no program.
    ///
    /// `file` must be absolute, so that it cannot be an option.
    pub(crate) fn new(setting: &str, file: &Path, position: Option<FilePosition>) -> Option<Self> {
        let mut words = split_words(setting).into_iter();
        let program = words.next().filter(|program| !program.is_empty())?;
        let name = Path::new(&program).file_stem()?.to_str()?.to_lowercase();
        let known = EDITORS
            .iter()
            .find(|(names, ..)| names.contains(&name.as_str()));
        let surface = known.map_or(Terminal, |(_, _, surface)| *surface);
        let is_kept = |word: &String| surface == Terminal || !WAIT_OPTIONS.contains(&word.as_str());
        let mut arguments: Vec<OsString> = words.filter(is_kept).map(OsString::from).collect();
        match known.zip(position) {
            Some(((_, syntax, _), position)) => arguments.extend(at(*syntax, file, position)),
            None => arguments.push(file.into()),
        }
        Some(Self {
            program,
            arguments,
            surface,
        })
    }
}

/// Returns the arguments that open a file at a position.
fn at(syntax: PositionSyntax, file: &Path, position: FilePosition) -> Vec<OsString> {
    let line = position.line;
    let column = |separator: char| {
        let column = position.column;
        column.map_or_else(String::new, |column| format!("{separator}{column}"))
    };
    let option = match syntax {
        PositionSyntax::Plus => format!("+{line}"),
        PositionSyntax::PlusColon => format!("+{line}{}", column(':')),
        PositionSyntax::PlusComma => format!("+{line}{}", column(',')),
        PositionSyntax::Letter => format!("-n{line}"),
        PositionSyntax::LineOption => {
            return vec!["--line".into(), line.to_string().into(), file.into()];
        }
        PositionSyntax::Suffix | PositionSyntax::Goto => {
            let mut target = OsString::from(file);
            target.push(format!(":{line}{}", column(':')));
            let option = (syntax == PositionSyntax::Goto).then(|| "--goto".into());
            return option.into_iter().chain([target]).collect();
        }
    };
    vec![option.into(), file.into()]
}

/// Splits a command into words; quotes keep blanks.
fn split_words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    for character in command.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            None if matches!(character, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            None if character.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn command(setting: &str, position: Option<(u32, Option<u32>)>) -> (String, EditorSurface) {
        let position = position.map(|(line, column)| FilePosition { line, column });
        let command = EditorCommand::new(setting, Path::new("/p/a b.rs"), position).unwrap();
        let arguments = command.arguments.iter().map(|it| it.to_str().unwrap());
        let arguments: Vec<&str> = arguments.collect();
        (
            format!("{}|{}", command.program, arguments.join("|")),
            command.surface,
        )
    }

    #[test]
    fn editors_open_the_line() {
        let here = Some((3, Some(7)));
        for (setting, position, expected, surface) in [
            ("vim", here, "vim|+3|/p/a b.rs", Terminal),
            ("nvim -p", None, "nvim|-p|/p/a b.rs", Terminal),
            ("nano", here, "nano|+3,7|/p/a b.rs", Terminal),
            (
                "emacsclient -nw",
                here,
                "emacsclient|-nw|+3:7|/p/a b.rs",
                Terminal,
            ),
            ("hx", here, "hx|/p/a b.rs:3:7", Terminal),
            ("code --wait", here, "code|--goto|/p/a b.rs:3:7", Window),
            ("code --wait", None, "code|/p/a b.rs", Window),
            (
                "/usr/bin/subl -w",
                Some((3, None)),
                "/usr/bin/subl|/p/a b.rs:3",
                Window,
            ),
            ("idea --wait", here, "idea|--line|3|/p/a b.rs", Window),
            ("gedit", here, "gedit|+3|/p/a b.rs", Window),
            ("notepad++.exe", here, "notepad++.exe|-n3|/p/a b.rs", Window),
            ("'my editor' -x", here, "my editor|-x|/p/a b.rs", Terminal),
        ] {
            assert_eq!(
                command(setting, position),
                (expected.to_owned(), surface),
                "{setting}"
            );
        }
    }

    #[test]
    fn the_manual_lists_the_editors() {
        let manual = include_str!("../../../../docs/interactive.md");
        for (names, ..) in EDITORS {
            for name in *names {
                let is_listed = manual
                    .lines()
                    .filter(|line| line.starts_with('|'))
                    .flat_map(|line| line.split(['|', ',']))
                    .any(|word| word.trim() == *name);
                assert!(is_listed, "{name}");
            }
        }
    }

    #[test]
    fn shell_syntax_is_not_interpreted() {
        let (shown, _) = command("vim; rm -rf $HOME", None);
        assert_eq!(shown, "vim;|rm|-rf|$HOME|/p/a b.rs");
        assert_eq!(EditorCommand::new(" ", Path::new("/p"), None), None);
    }
}
