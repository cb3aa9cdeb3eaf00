//! Programs whose arguments can contain code, which can run commands: `sed`, `awk`, `git`, compilers, clients of databases.

use super::interpreters::interprets_code;
use super::is_launching;
use crate::shell_split::Word;

/// Commands of `git` that run others.
const GIT_LAUNCHERS: [&str; 23] = [
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
    "imap-send",
    "maintenance",
    "merge-index",
    "mergetool",
    "p4",
    "remote-ext",
    "scalar",
    "send-email",
    "shell",
    "submodule--helper",
    "svn",
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
    if let Some(has_code) = interprets_code(name, arguments) {
        return has_code;
    }
    let texts = || arguments.iter().map(|word| word.text.as_str());
    if is_compiler(name) {
        return texts().any(is_compiler_extension);
    }
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
        "less" | "more" | "vi" | "vim" | "vimdiff" | "gvim" | "nvim" | "view" | "ex" | "emacs"
        | "nano" => texts()
            .filter_map(|text| text.strip_prefix('+'))
            .any(|start| start.contains(|character: char| !matches!(character, '0'..='9' | ','))),
        "make" | "gmake" => texts().any(is_make_code),
        "sqlite3" | "duckdb" => {
            texts().any(is_client_command) || !has_second_operand(arguments, &["-separator"])
        }
        "psql" | "mysql" | "mariadb" => {
            texts().any(is_client_command) || !texts().any(is_client_query)
        }
        // What it downloads is written with `%output{file}`, too.
        "curl" => texts().any(|text| text.contains("%output")),
        "ghc" => {
            texts().any(|text| text.starts_with("-pgm") || text.starts_with("-e") || text == "-F")
        }
        "rustc" | "cargo" => texts().any(|text| text.contains("linker")),
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
        "copy",
        "vacuum",
    ];
    has_dot_command
        || lower.contains('\\')
        || matches!(lower.as_str(), "-cmd" | "--cmd" | "-init" | "--init")
        || calls.iter().any(|call| lower.contains(call))
}

/// Whether an argument of a client is a query, or asks for nothing but a list or a version.
fn is_client_query(text: &str) -> bool {
    const LONG: [&str; 8] = [
        "--command",
        "--execute",
        "--file",
        "--help",
        "--list",
        "--print-defaults",
        "--version",
        "-?",
    ];
    let flag = text.split('=').next().unwrap_or_default();
    let letters = text.strip_prefix('-').filter(|it| !it.starts_with('-'));
    LONG.contains(&flag)
        || letters.is_some_and(|letters| letters.contains(['c', 'e', 'f', 'l', 'V']))
}

/// Whether an argument of `make` is code: functions and variables are expanded, `!=` and a command in a value run it, some
/// variables name programs, and a makefile may come from the input.
fn is_make_code(text: &str) -> bool {
    let text = text.trim_start();
    let letters = text.strip_prefix('-').filter(|it| !it.starts_with('-'));
    let is_input = text == "-"
        || text.contains("dev/stdin")
        || text.contains("/fd/")
        || text == "--file=-"
        || text == "--makefile=-"
        || letters.is_some_and(|letters| letters.ends_with("f-"));
    let value = text.split_once('=').map_or("", |(_, value)| value);
    is_input
        || ["$(", "${", "!="].iter().any(|part| text.contains(part))
        || value.contains([';', '|', '&', '<', '>', '`', '\n'])
        || [".SHELL", "GNUMAKE", "MAKE", "SHELL"]
            .iter()
            .any(|variable| text.starts_with(variable) && text.contains('='))
}

/// `gcc`, `clang++-18`, `x86_64-linux-gnu-g++`.
fn is_compiler(name: &str) -> bool {
    let is_version = |last: char| last.is_ascii_digit() || last == '.' || last == '-';
    let stem = name.trim_end_matches(is_version);
    let target = |compiler: &&str| {
        let before = stem.strip_suffix(*compiler);
        before.is_some_and(|before| before.is_empty() || before.ends_with('-'))
    };
    let compilers = ["gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran"];
    compilers.iter().any(target)
}

/// Whether an argument of a compiler names programs or plugins, or a file with more arguments.
fn is_compiler_extension(text: &str) -> bool {
    const STARTS: [&str; 11] = [
        "-B", "-fuse-ld", "-ld-path", "-load", "-prefix", "-specs", "-wrapper", "-Xclang", "-ccc-",
        "-config", "@",
    ];
    let text = text
        .strip_prefix('-')
        .filter(|it| it.starts_with('-'))
        .unwrap_or(text);
    STARTS.iter().any(|start| text.starts_with(start))
        || text.contains("plugin")
        || text.contains(",@")
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
            "archive" | "format-patch" => has_letter('o'),
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
const GIT_CONFIG_OPTIONS: [&str; 18] = [
    "-z",
    "--add",
    "--all",
    "--append",
    "--bool",
    "--global",
    "--includes",
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

/// Options with which `git config` only reads.
const GIT_CONFIG_READS: [&str; 8] = [
    "-l",
    "--get",
    "--get-all",
    "--get-color",
    "--get-colorbool",
    "--get-regexp",
    "--get-urlmatch",
    "--list",
];

/// Whether `git config` only reads, or changes a setting that names no program.
fn is_plain_setting(arguments: &[Word]) -> bool {
    let texts: Vec<&str> = arguments.iter().map(|word| word.text.as_str()).collect();
    let Some((options, operands)) = config_options(&texts) else {
        return false;
    };
    let is_plain = |key: &str| {
        let key = key.to_ascii_lowercase();
        GIT_PLAIN_SETTINGS
            .iter()
            .any(|plain| key.starts_with(plain))
    };
    if options
        .iter()
        .any(|option| GIT_CONFIG_READS.contains(option))
    {
        return true;
    }
    match operands {
        ["edit", ..] => false,
        [] | [_] | ["get" | "list", ..] => true,
        ["set" | "unset", rest @ ..] => config_options(rest)
            .and_then(|(_, operands)| operands.first())
            .is_some_and(|key| is_plain(key)),
        [key, ..] => is_plain(key),
    }
}

/// Splits arguments of `git config` at the first operand, after which git reads no options. `None` with other options: another
/// file, an editor, or an option with a value, which would be taken for a setting.
fn config_options<'texts>(
    texts: &'texts [&'texts str],
) -> Option<(&'texts [&'texts str], &'texts [&'texts str])> {
    let end = texts
        .iter()
        .position(|text| !text.starts_with('-') || *text == "--");
    let (options, operands) = texts.split_at(end.unwrap_or(texts.len()));
    let is_known =
        |option: &&str| GIT_CONFIG_OPTIONS.contains(option) || GIT_CONFIG_READS.contains(option);
    let operands = match operands {
        ["--", after @ ..] => after,
        operands => operands,
    };
    options.iter().all(is_known).then_some((options, operands))
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
