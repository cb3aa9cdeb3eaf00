//! Programs that take code, which can run commands: interpreters, `sed`, `awk` and `git`.

use super::is_launching;
use crate::shell_split::Word;

/// Interpreters, and the letters of options with code.
const INTERPRETERS: [(&str, &str, &[&str]); 10] = [
    ("python", "c", &[]),
    ("pypy", "c", &[]),
    ("perl", "eEi", &[]),
    ("ruby", "ei", &[]),
    ("node", "ep", &["--eval", "--print"]),
    ("nodejs", "ep", &["--eval", "--print"]),
    ("bun", "ep", &["--eval", "--print", "-"]),
    ("php", "rEBR", &["--run"]),
    ("lua", "e", &[]),
    ("osascript", "e", &[]),
];

/// Commands of `git` that run others.
const GIT_LAUNCHERS: [&str; 13] = [
    "citool",
    "daemon",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "gui",
    "hook",
    "instaweb",
    "mergetool",
    "remote-ext",
    "send-email",
    "shell",
    "web--browse",
];

/// Options of `git` in front of its command that change nothing about what it runs.
const GIT_PLAIN_OPTIONS: [&str; 9] = [
    "-C",
    "-P",
    "-p",
    "--no-pager",
    "--paginate",
    "--literal-pathspecs",
    "--no-optional-locks",
    "--no-replace-objects",
    "--version",
];

/// Settings of `git` that name no program.
const GIT_PLAIN_SETTINGS: [&str; 9] = [
    "advice.",
    "branch.",
    "color.",
    "core.autocrlf",
    "fetch.prune",
    "init.defaultbranch",
    "pull.",
    "push.",
    "user.",
];

/// Whether the arguments contain code that may run commands, or write files.
pub(super) fn has_inline_code(name: &str, arguments: &[Word]) -> bool {
    // `python3.12`
    let stem = name.trim_end_matches(|last: char| last.is_ascii_digit() || last == '.');
    if let Some((_, letters, long)) = INTERPRETERS.iter().find(|(of, ..)| *of == stem) {
        return is_code(letters, long, arguments);
    }
    let texts = || arguments.iter().map(|word| word.text.as_str());
    match name {
        "git" => git_runs_commands(arguments),
        "sed" | "gsed" => sed_runs_commands(arguments),
        // Programs call `system`, pipe to commands and redirect to files.
        "awk" | "gawk" | "mawk" | "nawk" => texts().any(|text| {
            let pipes = text.replace("||", "");
            ["system", "getline", "@load", "@include"]
                .iter()
                .any(|call| text.contains(call))
                || pipes.contains('|')
                || ["> \"", ">\"", ">$", "> $"]
                    .iter()
                    .any(|write| text.contains(write))
                || matches!(text, "-f" | "-i" | "-l" | "-E")
        }),
        // Options without a dash.
        "tar" => texts().next().is_some_and(|first| {
            !first.starts_with('-') && !first.contains('/') && first.contains(['I', 'F'])
        }),
        // Their arguments are evaluated, even in quotes.
        "[" | "test" | "let" | "printf" | "read" | "declare" | "typeset" | "local" | "export"
        | "readonly" | "unset" | "wait" | "getopts" | "mapfile" | "readarray" => {
            texts().any(|text| text.contains('[') && (text.contains("$(") || text.contains('`')))
        }
        "set" => texts().any(|text| text == "keyword"),
        _ => false,
    }
}

/// Whether an interpreter reads code from its arguments or its input.
fn is_code(letters: &str, long: &[&str], arguments: &[Word]) -> bool {
    arguments.is_empty()
        || arguments
            .iter()
            .map(|word| word.text.as_str())
            .take_while(|text| text.starts_with('-') || *text == "/dev/stdin")
            .any(|text| {
                let flag = text.split('=').next().unwrap_or_default();
                let is_short = !text.starts_with("--");
                matches!(text, "-" | "/dev/stdin")
                    || long.contains(&flag)
                    || (is_short && text.contains(|letter| letters.contains(letter)))
            })
}

fn git_runs_commands(arguments: &[Word]) -> bool {
    let mut rest = arguments;
    while let [option, after @ ..] = rest
        && option.text.starts_with('-')
    {
        if !GIT_PLAIN_OPTIONS.contains(&option.text.as_str()) {
            return true;
        }
        rest = after
            .get(usize::from(option.text == "-C")..)
            .unwrap_or_default();
    }
    let Some((command, arguments)) = rest.split_first() else {
        return false;
    };
    let has_letter = |letter: char| {
        let mut texts = arguments.iter().map(|word| word.text.as_str());
        texts.any(|text| !text.starts_with("--") && text.starts_with('-') && text.contains(letter))
    };
    let has_word = |word: &str| arguments.iter().any(|argument| argument.text == word);
    command.is_expanded
        || GIT_LAUNCHERS.contains(&command.text.as_str())
        || arguments.iter().any(|word| word.text.starts_with("ext::"))
        || match command.text.as_str() {
            "bisect" => has_word("run"),
            "submodule" => has_word("foreach"),
            "grep" => has_letter('O'),
            "rebase" => has_letter('x'),
            "clone" => has_letter('c') || has_letter('u') || has_option(arguments, "--config"),
            "config" => !is_plain_setting(arguments),
            _ => false,
        }
}

fn has_option(arguments: &[Word], option: &str) -> bool {
    let mut texts = arguments
        .iter()
        .map(|word| word.text.split('=').next().unwrap_or_default());
    texts.any(|text| text.len() > 2 && text.starts_with("--") && option.starts_with(text))
}

/// Whether `git config` only reads, or changes a setting that names no program.
fn is_plain_setting(arguments: &[Word]) -> bool {
    let texts = || arguments.iter().map(|word| word.text.as_str());
    let reads = |text: &str| text == "-l" || text == "--list" || text.starts_with("--get");
    let operands: Vec<&str> = texts().filter(|text| !text.starts_with('-')).collect();
    let has_file = texts().any(|text| text == "-f" || text.starts_with("--file") || text == "-e");
    !has_file
        && (texts().any(reads)
            || match operands.as_slice() {
                [] => !texts().any(|text| text.starts_with("--e")),
                [_] | ["get" | "list", ..] => true,
                ["set", key, ..] | [key, ..] => {
                    let key = key.to_ascii_lowercase();
                    GIT_PLAIN_SETTINGS
                        .iter()
                        .any(|plain| key.starts_with(plain))
                }
            })
}

/// Whether a script of `sed` is none of the simple ones that only read.
fn sed_runs_commands(arguments: &[Word]) -> bool {
    let mut scripts = Vec::new();
    let mut operand = None;
    let mut rest = arguments.iter();
    while let Some(word) = rest.next() {
        let text = word.text.as_str();
        match text {
            "-e" | "--expression" => scripts.extend(rest.next().map(|word| word.text.as_str())),
            "-n" | "-E" | "-r" | "-s" | "-u" | "-z" | "-nE" | "-En" | "-nr" | "-rn" | "--quiet"
            | "--silent" | "--regexp-extended" | "--null-data" | "--posix" | "--sandbox" => {}
            _ if text.starts_with('-') && !is_launching("sed", text) => return true,
            _ => operand = operand.or(Some(text)),
        }
    }
    if scripts.is_empty() {
        scripts.extend(operand);
    }
    scripts.iter().any(|script| !is_plain_sed_script(script))
}

/// Understands commands such as `s/a/b/g`, `1,20p`, `$d` and `/a/,/b/p`.
fn is_plain_sed_script(script: &str) -> bool {
    let mut rest = script.trim_start_matches([' ', ';', '\n', '}']);
    while !rest.is_empty() {
        let Some(after) = after_sed_command(rest) else {
            return false;
        };
        rest = after.trim_start_matches([' ', ';', '\n', '}']);
    }
    true
}

fn after_sed_command(text: &str) -> Option<&str> {
    let mut rest = text;
    loop {
        let first = rest.chars().next()?;
        rest = match first {
            '/' => after_delimiter(rest.get(1..)?, '/')?.trim_start_matches(['I', 'M']),
            '0'..='9' | '$' | ',' | '+' | '~' | '!' | ' ' | '{' => rest.get(1..)?,
            _ => break,
        };
    }
    let command = rest.chars().next()?;
    let rest = rest.get(command.len_utf8()..)?;
    match command {
        'p' | 'd' | 'q' | 'Q' | 'n' | 'N' | 'h' | 'H' | 'g' | 'G' | 'x' | 'D' | 'P' | '=' | 'l' => {
            (rest.is_empty() || rest.starts_with([';', '\n', ' ', '}'])).then_some(rest)
        }
        's' | 'y' => {
            let delimiter = rest.chars().next()?;
            let rest = rest.get(delimiter.len_utf8()..)?;
            let rest = after_delimiter(after_delimiter(rest, delimiter)?, delimiter)?;
            let rest = rest
                .trim_start_matches(|flag: char| flag.is_ascii_digit() || "gpIiM".contains(flag));
            (rest.is_empty() || rest.starts_with([';', '\n', ' ', '}'])).then_some(rest)
        }
        _ => None,
    }
}

fn after_delimiter(text: &str, delimiter: char) -> Option<&str> {
    let mut is_escaped = false;
    for (index, character) in text.char_indices() {
        if !is_escaped && character == delimiter {
            return text.get(index + delimiter.len_utf8()..);
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    None
}
