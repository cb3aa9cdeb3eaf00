//! Which front end serves a command line.

use std::io::IsTerminal as _;

use crate::args::{Args, OutputMode};

/// A front end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Interactive,
    /// The answer as text.
    Print,
    /// Every event as a line of JSON.
    Json,
    /// Commands and events as lines of JSON.
    Rpc,
}

/// Which of the process's streams are a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminals {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
}

impl Terminals {
    /// Asks the system.
    pub(crate) fn of_process() -> Self {
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
        }
    }
}

impl Mode {
    /// Chooses the front end. Without a terminal at both ends there is nobody to talk to.
    pub(crate) fn of(args: &Args, terminals: Terminals) -> Self {
        match args.mode {
            Some(OutputMode::Rpc) => Self::Rpc,
            Some(OutputMode::Json) => Self::Json,
            Some(OutputMode::Text) | None => {
                if args.print || !terminals.stdin || !terminals.stdout {
                    Self::Print
                } else {
                    Self::Interactive
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_flags_decide() {
        let both = Terminals {
            stdin: true,
            stdout: true,
        };
        let piped_in = Terminals {
            stdin: false,
            ..both
        };
        let piped_out = Terminals {
            stdout: false,
            ..both
        };
        for (line, terminals, expected) in [
            ("", both, Mode::Interactive),
            ("--mode text", both, Mode::Interactive),
            ("-p x", both, Mode::Print),
            ("--mode text -p x", both, Mode::Print),
            ("", piped_in, Mode::Print),
            ("x", piped_out, Mode::Print),
            ("--mode json x", both, Mode::Json),
            ("--mode json -p x", piped_in, Mode::Json),
            ("--mode rpc", both, Mode::Rpc),
            ("--mode rpc -p", piped_out, Mode::Rpc),
        ] {
            let args = Args::parse(line.split_whitespace().map(Into::into));
            assert_eq!(Mode::of(&args, terminals), expected, "{line}");
        }
    }
}
