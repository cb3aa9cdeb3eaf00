//! Interpreters: whether one gets its code from an argument, its input or a remote address, and not from a file.
//!
//! Options that are not known may have a value in the next argument, so that the arguments after it are read as options, too.

use crate::shell_split::Word;

/// How a program reads its options.
struct Interpreter {
    name: &'static str,
    /// Letters of options with code, or after which code is read from the input.
    code: &'static str,
    long_code: &'static [&'static str],
    /// Letters of options with another value, in the same argument or the next one.
    values: &'static str,
    long_values: &'static [&'static str],
    /// Letters of options with the file of the script.
    script: &'static str,
    /// Letters of options without a value.
    flags: &'static str,
    long_flags: &'static [&'static str],
    /// Options after which no code is read from the input.
    quiet: &'static [&'static str],
    /// Commands with code.
    commands: &'static [&'static str],
    /// Modules with code in their arguments or from the input, for `-m`.
    modules: &'static [&'static str],
}

const PLAIN: Interpreter = Interpreter {
    name: "",
    code: "",
    long_code: &[],
    values: "",
    long_values: &[],
    script: "",
    flags: "",
    long_flags: &[],
    quiet: &["-h", "--help", "--version"],
    commands: &[],
    modules: &[],
};

const PYTHON: Interpreter = Interpreter {
    code: "ci",
    values: "WXQ",
    long_values: &["--check-hash-based-pycs"],
    flags: "bBdEhIOPqRsStuvVx?",
    quiet: &["-h", "-V", "-VV", "-?", "--help", "--version"],
    modules: &[
        "IPython", "asyncio", "bdb", "bpython", "cProfile", "code", "idlelib", "pdb", "profile",
        "ptpython", "runpy", "timeit", "trace", "xonsh",
    ],
    ..PLAIN
};

const NODE: Interpreter = Interpreter {
    code: "epi",
    long_code: &["--eval", "--print", "--interactive"],
    values: "rC",
    long_values: &[
        "--conditions",
        "--env-file",
        "--env-file-if-exists",
        "--experimental-loader",
        "--import",
        "--input-type",
        "--loader",
        "--require",
    ],
    flags: "chv",
    long_flags: &[
        "--check",
        "--enable-source-maps",
        "--experimental-strip-types",
        "--expose-gc",
        "--inspect",
        "--inspect-brk",
        "--no-deprecation",
        "--no-warnings",
        "--test",
        "--trace-warnings",
        "--watch",
    ],
    quiet: &[
        "-h",
        "-v",
        "--help",
        "--run",
        "--test",
        "--v8-options",
        "--version",
    ],
    commands: &["inspect"],
    ..PLAIN
};

const LUA: Interpreter = Interpreter {
    code: "ei",
    values: "l",
    flags: "vEW",
    quiet: &["-v"],
    ..PLAIN
};

/// Options with code of several languages.
const EVAL: Interpreter = Interpreter {
    code: "eE",
    long_code: &["--eval", "--evaluate", "--expr", "--expression", "--print"],
    ..PLAIN
};

const INTERPRETERS: [Interpreter; 37] = [
    Interpreter {
        name: "python",
        ..PYTHON
    },
    Interpreter {
        name: "pypy",
        ..PYTHON
    },
    Interpreter {
        name: "ipython",
        ..PYTHON
    },
    Interpreter {
        name: "perl",
        // Modules are code, too: `-Mstrict;code`. So are patterns of `-F`, and with `-n` and `-p` names of files: `rm x|`.
        code: "adeEFiMmnp",
        values: "I",
        flags: "cCDfhlsStTuUvVwWxX0123456789",
        quiet: &["-h", "-v", "-V"],
        ..PLAIN
    },
    Interpreter {
        name: "raku",
        code: "e",
        values: "IM",
        flags: "chnpvV",
        quiet: &["-h", "-v", "-V", "--help", "--version"],
        ..PLAIN
    },
    Interpreter {
        name: "ruby",
        code: "ei",
        values: "CEIrX",
        long_values: &[
            "--disable",
            "--dump",
            "--enable",
            "--encoding",
            "--external-encoding",
            "--internal-encoding",
            "--parser",
        ],
        flags: "acdhlnpsSUvwy0123456789",
        long_flags: &["--jit", "--yjit", "--verbose"],
        quiet: &["-h", "-v", "--copyright", "--help", "--version"],
        ..PLAIN
    },
    Interpreter {
        name: "node",
        ..NODE
    },
    Interpreter {
        name: "nodejs",
        ..NODE
    },
    Interpreter {
        name: "tsx",
        ..NODE
    },
    Interpreter {
        name: "ts-node",
        // The compiler is a module.
        code: "epiC",
        long_code: &["--eval", "--print", "--interactive", "--compiler"],
        values: "rOP",
        ..NODE
    },
    Interpreter {
        name: "bun",
        code: "ep",
        long_code: &["--eval", "--print"],
        values: "rc",
        long_values: &["--config", "--cwd", "--env-file", "--import", "--preload"],
        flags: "bhiv",
        long_flags: &["--bun", "--hot", "--silent", "--watch"],
        quiet: &["-h", "-v", "--help", "--revision", "--version"],
        commands: &["exec", "repl"],
        ..PLAIN
    },
    Interpreter {
        name: "deno",
        code: "e",
        long_code: &["--eval", "--eval-file"],
        values: "c",
        long_values: &[
            "--cert",
            "--config",
            "--env-file",
            "--import-map",
            "--preload",
        ],
        flags: "AhqrV",
        long_flags: &["--allow-all", "--quiet"],
        quiet: &["-h", "-V", "--help", "--version"],
        commands: &["eval", "jupyter", "repl"],
        ..PLAIN
    },
    Interpreter {
        name: "php",
        code: "arBER",
        // The arguments after `--` are for a script in the input.
        long_code: &[
            "--",
            "--interactive",
            "--process-begin",
            "--process-code",
            "--process-end",
            "--run",
        ],
        values: "cdStz",
        long_values: &[
            "--define",
            "--docroot",
            "--php-ini",
            "--server",
            "--zend-extension",
        ],
        script: "fF",
        flags: "CeHhilmnqsvw",
        long_flags: &["--no-php-ini", "--syntax-check"],
        quiet: &[
            "-h",
            "-i",
            "-m",
            "-S",
            "-v",
            "--help",
            "--info",
            "--ini",
            "--modules",
            "--server",
            "--version",
        ],
        ..PLAIN
    },
    Interpreter { name: "lua", ..LUA },
    Interpreter {
        name: "luajit",
        ..LUA
    },
    Interpreter {
        name: "osascript",
        code: "ei",
        values: "ls",
        ..PLAIN
    },
    Interpreter {
        name: "rscript",
        ..EVAL
    },
    Interpreter {
        name: "r",
        script: "f",
        quiet: &["CMD", "--help", "--version"],
        ..EVAL
    },
    Interpreter {
        name: "julia",
        ..EVAL
    },
    Interpreter {
        name: "elixir",
        long_code: &["--eval", "--rpc-eval"],
        ..EVAL
    },
    Interpreter {
        name: "erl",
        ..EVAL
    },
    Interpreter {
        name: "guile",
        code: "ce",
        ..PLAIN
    },
    Interpreter {
        name: "racket",
        ..EVAL
    },
    Interpreter {
        name: "sbcl",
        ..EVAL
    },
    Interpreter {
        name: "scala",
        ..EVAL
    },
    Interpreter {
        name: "groovy",
        ..EVAL
    },
    Interpreter {
        name: "clojure",
        ..EVAL
    },
    Interpreter {
        name: "clj",
        ..EVAL
    },
    Interpreter {
        name: "octave",
        ..EVAL
    },
    Interpreter {
        name: "ocaml",
        ..EVAL
    },
    Interpreter {
        name: "gnuplot",
        ..EVAL
    },
    Interpreter {
        name: "jrunscript",
        ..EVAL
    },
    Interpreter {
        name: "qjs",
        ..EVAL
    },
    Interpreter {
        name: "tclsh",
        ..PLAIN
    },
    Interpreter {
        name: "jshell",
        ..PLAIN
    },
    // They run commands of the shell: `!rm x`, `syscmd(rm x)`.
    Interpreter { name: "dc", ..EVAL },
    Interpreter {
        name: "m4",
        values: "DIU",
        ..PLAIN
    },
];

/// Whether a program is an interpreter whose arguments contain code, or which reads code from its input; `None` for another one.
pub(super) fn interprets_code(name: &str, arguments: &[Word]) -> Option<bool> {
    // `python3.12`, and `python3.13t` without the lock.
    let is_version = |last: char| last.is_ascii_digit() || last == '.' || last == '-';
    let stem = name.trim_end_matches(is_version);
    let threaded = name.strip_suffix('t').unwrap_or_default();
    let threaded = threaded.trim_end_matches(is_version);
    let interpreter = INTERPRETERS.iter().find(|it| {
        [name, stem].contains(&it.name) || (it.name == "python" && it.name == threaded)
    })?;
    Some(interpreter.has_code(arguments))
}

/// Whether an argument names code that is in no file: the input, `data:text/javascript,code`, or a remote address. Settings of
/// PHP can name files that run first.
fn is_inline(text: &str) -> bool {
    const PARTS: [&str; 9] = [
        "://",
        "data:",
        "dev/fd",
        "dev/stdin",
        "/fd/",
        "auto_append_file",
        "auto_prepend_file",
        "extension=",
        "sendmail_path",
    ];
    text == "-" || PARTS.iter().any(|part| text.contains(part))
}

impl Interpreter {
    fn has_code(&self, arguments: &[Word]) -> bool {
        let mut rest = arguments.iter().map(|word| word.text.as_str()).peekable();
        let mut reads_input = true;
        // An option that is not known is in front: the argument may be its value, or the script.
        let mut may_be_value = false;
        while let Some(text) = rest.next() {
            if is_inline(text) || self.long_code.contains(&flag_of(text)) {
                return true;
            }
            if text == "--" {
                return match rest.next() {
                    Some(script) => is_inline(script),
                    None => reads_input,
                };
            }
            reads_input &= !self.quiet.contains(&text);
            if !text.starts_with('-') {
                if self.commands.contains(&text) {
                    return true;
                }
                reads_input = false;
                // The script may follow a command of the program.
                if !std::mem::take(&mut may_be_value) && !matches!(text, "run" | "test") {
                    return false;
                }
                continue;
            }
            may_be_value = false;
            let takes_next = if text.starts_with("--") {
                self.takes_next_of_long(text)
            } else {
                match self.read_letters(text) {
                    Letters::Code => return true,
                    Letters::Module(module) => {
                        let module = module.or_else(|| rest.next()).unwrap_or_default();
                        return self.is_code_module(module);
                    }
                    Letters::Script(script) => {
                        return script.or_else(|| rest.next()).is_none_or(is_inline);
                    }
                    Letters::Flags(takes_next) => takes_next,
                }
            };
            match takes_next {
                TakesNext::No => {}
                TakesNext::Possibly => may_be_value = true,
                // What looks like an option is read as one.
                TakesNext::Yes => {
                    if rest
                        .next_if(|next| !next.starts_with('-'))
                        .is_some_and(is_inline)
                    {
                        return true;
                    }
                }
            }
        }
        reads_input
    }

    fn takes_next_of_long(&self, text: &str) -> TakesNext {
        if text.contains('=') || self.long_flags.contains(&text) || self.quiet.contains(&text) {
            TakesNext::No
        } else if self.long_values.contains(&text) {
            TakesNext::Yes
        } else {
            TakesNext::Possibly
        }
    }

    fn read_letters<'text>(&self, text: &'text str) -> Letters<'text> {
        let mut takes_next = TakesNext::No;
        for (index, letter) in text.char_indices().skip(1) {
            let attached = text.get(index + letter.len_utf8()..);
            let attached = attached.filter(|attached| !attached.is_empty());
            if letter == ':' {
                // A value, as in `clojure -M:test`.
                break;
            }
            if self.code.contains(letter) {
                return Letters::Code;
            }
            if letter == 'm' && !self.modules.is_empty() {
                return Letters::Module(attached);
            }
            if self.script.contains(letter) {
                return Letters::Script(attached);
            }
            if self.values.contains(letter) {
                return Letters::Flags(match attached {
                    Some(_) => TakesNext::No,
                    None => TakesNext::Yes,
                });
            }
            if !self.flags.contains(letter) && !self.quiet.contains(&text) {
                takes_next = TakesNext::Possibly;
            }
        }
        Letters::Flags(takes_next)
    }

    /// Whether a module, or the package around it, takes code.
    fn is_code_module(&self, module: &str) -> bool {
        let package = module.split('.').next().unwrap_or_default();
        self.modules.contains(&package)
    }
}

/// Options in one argument with a single dash.
enum Letters<'text> {
    Code,
    /// The name of a module, unless it is the next argument.
    Module(Option<&'text str>),
    /// The file of a script, unless it is the next argument.
    Script(Option<&'text str>),
    Flags(TakesNext),
}

/// Whether the argument after an option belongs to it.
enum TakesNext {
    No,
    Possibly,
    Yes,
}

fn flag_of(text: &str) -> &str {
    text.split('=').next().unwrap_or_default()
}
