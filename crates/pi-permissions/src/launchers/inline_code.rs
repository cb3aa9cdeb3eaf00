//! Programs that take code, which can run commands: interpreters, `sed`, `awk` and `git`.

use super::is_launching;
use crate::shell_split::Word;

/// A program that runs code.
struct Interpreter {
    name: &'static str,
    /// Letters of options with code.
    code: &'static str,
    long: &'static [&'static str],
    /// Letters of options with another value in the next argument.
    values: &'static str,
    long_values: &'static [&'static str],
}

const fn interpreter(
    name: &'static str,
    (code, long): (&'static str, &'static [&'static str]),
    (values, long_values): (&'static str, &'static [&'static str]),
) -> Interpreter {
    Interpreter {
        name,
        code,
        long,
        values,
        long_values,
    }
}

const NODE_CODE: (&str, &[&str]) = ("ep", &["--eval", "--print"]);
const NODE_VALUES: (&str, &[&str]) = (
    "rC",
    &[
        "--require",
        "--import",
        "--loader",
        "--conditions",
        "--input-type",
    ],
);

const INTERPRETERS: [Interpreter; 10] = [
    interpreter("python", ("c", &[]), ("WXQ", &["--check-hash-based-pycs"])),
    interpreter("pypy", ("c", &[]), ("WXQ", &[])),
    // Modules are code, too: `-Mstrict;code`.
    interpreter("perl", ("eEiMmd", &[]), ("I", &[])),
    interpreter("ruby", ("ei", &[]), ("CEIr", &["--encoding"])),
    interpreter("node", NODE_CODE, NODE_VALUES),
    interpreter("nodejs", NODE_CODE, NODE_VALUES),
    interpreter(
        "bun",
        ("ep", &["--eval", "--print", "-"]),
        ("r", &["--preload"]),
    ),
    interpreter(
        "php",
        ("rEBR", &["--run"]),
        ("cdz", &["--php-ini", "--define"]),
    ),
    interpreter("lua", ("e", &[]), ("l", &[])),
    interpreter("osascript", ("e", &[]), ("ls", &[])),
];

/// Commands of `git` that run others.
const GIT_LAUNCHERS: [&str; 17] = [
    "citool",
    // Prints passwords.
    "credential",
    "credential-cache",
    "credential-store",
    "daemon",
    "difftool",
    "filter-branch",
    "for-each-repo",
    "gui",
    "hook",
    "instaweb",
    "maintenance",
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
    if let Some(interpreter) = INTERPRETERS.iter().find(|it| it.name == stem) {
        return has_code(interpreter, arguments);
    }
    let texts = || arguments.iter().map(|word| word.text.as_str());
    match name {
        "git" => git_runs_commands(arguments),
        "sed" | "gsed" => sed_runs_commands(arguments),
        "awk" | "gawk" | "mawk" | "nawk" => awk_runs_commands(arguments),
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
        // A command for the start, but not the number of a line.
        "less" | "more" | "vi" | "vim" | "nvim" | "view" | "ex" | "emacs" | "nano" => texts()
            .filter_map(|text| text.strip_prefix('+'))
            .any(|start| start.contains(|character: char| !matches!(character, '0'..='9' | ','))),
        // Functions and variables are expanded, and one of them names the shell.
        "make" | "gmake" => texts()
            .any(|text| text.contains("$(") || text.contains("${") || text.starts_with("SHELL")),
        "sqlite3" | "psql" | "mysql" | "mariadb" => texts().any(is_client_command),
        "gh" => texts().any(|text| matches!(text, "alias" | "extension")),
        "go" => {
            let has = |wanted: &str| texts().any(|text| text == wanted);
            (has("env") && (has("-w") || has("--w"))) || texts().any(|text| text.contains("-extld"))
        }
        // They write the second file.
        "uniq" => has_second_operand(arguments, &["-f", "-s", "-w"]),
        "xxd" => has_second_operand(arguments, &["-c", "-g", "-l", "-n", "-o", "-s", "-R"]),
        _ => false,
    }
}

/// Whether a text for the client of a database runs commands, or writes files: `.shell`, `\\!`, `system`, `COPY TO PROGRAM`.
fn is_client_command(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let mut lines = lower.lines();
    let has_dot_command = lines.any(|line| {
        let name = line.trim_start().strip_prefix('.');
        name.is_some_and(|name| {
            !["dump", "databases", "indexes", "schema", "tables"].contains(&name.trim())
        })
    });
    let calls = [
        "load_extension",
        "writefile",
        "edit(",
        "system",
        "program",
        "outfile",
        "dumpfile",
    ];
    has_dot_command
        || lower.contains('\\')
        || matches!(lower.as_str(), "-cmd" | "--cmd" | "-init" | "--init")
        || calls.iter().any(|call| lower.contains(call))
}

/// Whether there are two arguments besides options and the values that follow some of them.
fn has_second_operand(arguments: &[Word], value_options: &[&str]) -> bool {
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    let mut count = 0;
    while let Some(text) = rest.next() {
        if value_options.contains(&text) {
            rest.next();
        } else if !text.starts_with('-') {
            count += 1;
        }
    }
    count > 1
}

/// Options after which an interpreter reads no code from its input.
const WITHOUT_INPUT: [&str; 8] = [
    "-h",
    "-S",
    "-v",
    "-V",
    "--help",
    "--run",
    "--test",
    "--version",
];

/// Modules of Python that run code in an argument or from the input.
const CODE_MODULES: [&str; 4] = ["code", "pdb", "timeit", "trace"];

/// Whether an interpreter reads code from its arguments or its input.
fn has_code(interpreter: &Interpreter, arguments: &[Word]) -> bool {
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    while let Some(text) = rest.next() {
        let is_input = matches!(text, "-" | "/dev/stdin")
            || text.starts_with("/dev/fd/")
            || (text.starts_with("/proc/") && text.contains("/fd/"));
        // A module that is code, such as `--import=data:text/javascript,code`.
        if is_input || text.contains("data:") {
            return true;
        }
        if text == "-m" {
            return rest
                .next()
                .is_some_and(|module| CODE_MODULES.contains(&module));
        }
        if !text.starts_with('-') || WITHOUT_INPUT.contains(&text) {
            return false;
        }
        let flag = text.split('=').next().unwrap_or_default();
        let is_short = !text.starts_with("--");
        let is_code = is_short && text.contains(|letter| interpreter.code.contains(letter));
        if is_code || interpreter.long.contains(&flag) {
            return true;
        }
        // `-X dev`, but not `-Xdev`.
        let is_value_next = is_short
            && text.len() == 2
            && text.ends_with(|letter| interpreter.values.contains(letter));
        if (is_value_next || interpreter.long_values.contains(&text))
            && rest.next().is_some_and(|value| value.contains("data:"))
        {
            return true;
        }
    }
    true
}

/// Whether a program of `awk` calls others, or writes files: with `system`, which `@` can call by another name, pipes and
/// redirections.
fn awk_runs_commands(arguments: &[Word]) -> bool {
    let mut rest = arguments.iter().map(|word| word.text.as_str());
    while let Some(text) = rest.next() {
        match text {
            "-F" | "-v" | "--field-separator" | "--assign" => {
                rest.next();
            }
            "--" => return rest.next().is_some_and(is_awk_code),
            _ if text.starts_with("-F") || text.starts_with("-v") => {}
            _ if text.starts_with("--field-separator=") || text.starts_with("--assign=") => {}
            "--posix" | "--traditional" | "--re-interval" | "--sandbox" | "--version" => {}
            _ if text.starts_with('-') => return true,
            _ => return is_awk_code(text),
        }
    }
    false
}

fn is_awk_code(program: &str) -> bool {
    let after_print = program.split_once("print").map_or("", |(_, after)| after);
    ["system", "getline", "@"]
        .iter()
        .any(|call| program.contains(call))
        || program.replace("||", "").contains('|')
        || after_print.contains('>')
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
        || arguments.iter().any(|word| word.text.contains("ext::"))
        || match command.text.as_str() {
            "bisect" => has_word("run"),
            "submodule" => has_word("foreach"),
            "grep" => has_letter('O'),
            "rebase" => has_letter('x'),
            "clone" => has_letter('c') || has_letter('u') || has_option(arguments, "--config"),
            "archive" => has_letter('o'),
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

/// Options of `git config` that choose a file of the user, or what is done with one value.
const GIT_CONFIG_OPTIONS: [&str; 17] = [
    "-z",
    "--add",
    "--all",
    "--append",
    "--bool",
    "--global",
    "--int",
    "--local",
    "--name-only",
    "--null",
    "--replace-all",
    "--show-origin",
    "--show-scope",
    "--system",
    "--unset",
    "--unset-all",
    "--worktree",
];

/// Whether `git config` only reads, or changes a setting that names no program.
fn is_plain_setting(arguments: &[Word]) -> bool {
    let mut texts = arguments.iter().map(|word| word.text.as_str());
    let reads = |text: &str| text == "-l" || text == "--list" || text.starts_with("--get");
    let mut operands = Vec::new();
    let mut is_reading = false;
    for text in texts.by_ref() {
        if text == "--" {
            break;
        } else if reads(text) {
            is_reading = true;
        } else if !text.starts_with('-') {
            operands.push(text);
        } else if !GIT_CONFIG_OPTIONS.contains(&text) {
            // Another file, an editor, or an option with a value, which would be taken for a setting.
            return false;
        }
    }
    operands.extend(texts);
    is_reading
        || match operands.as_slice() {
            ["edit", ..] => false,
            [] | [_] | ["get" | "list", ..] => true,
            ["set" | "unset", key, ..] | [key, ..] => {
                let key = key.to_ascii_lowercase();
                GIT_PLAIN_SETTINGS
                    .iter()
                    .any(|plain| key.starts_with(plain))
            }
        }
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
