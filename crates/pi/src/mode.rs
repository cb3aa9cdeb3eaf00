//! Selects the mode from flags and streams.

use std::io::IsTerminal as _;

use crate::args::{Args, OutputMode};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Interactive,
    /// The answer as text.
    Print,
    /// Every event as a line of JSON.
    Json,
    /// Commands and events as lines of JSON.
    Rpc,
    /// The Agent Client Protocol, for editors.
    Acp,
}

/// Which streams of the process are terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Terminals {
    pub(crate) stdin: bool,
    pub(crate) stdout: bool,
}

impl Terminals {
    pub(crate) fn of_process() -> Self {
        Self {
            stdin: std::io::stdin().is_terminal(),
            stdout: std::io::stdout().is_terminal(),
        }
    }

    /// Whether a user can be asked.
    pub(crate) fn are_interactive(self) -> bool {
        self.stdin && self.stdout
    }
}

impl Mode {
    /// Selects the mode. Interactive mode needs a terminal on stdin and stdout.
    pub(crate) fn of(args: &Args, terminals: Terminals) -> Self {
        match args.mode {
            Some(OutputMode::Rpc) => Self::Rpc,
            Some(OutputMode::Acp) => Self::Acp,
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
    fn flags_and_streams_select_the_mode() {
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
            ("--mode acp", both, Mode::Acp),
        ] {
            let args = Args::parse(line.split_whitespace().map(Into::into));
            assert_eq!(Mode::of(&args, terminals), expected, "{line}");
        }
    }
}
