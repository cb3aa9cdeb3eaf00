//! What a terminal supports, found by queries: the bytes to write and the meaning of replies. Does no I/O.

use pi_tui::visible_width;

/// Ends every query: all terminals reply to it, and in order, so a missing reply before it is conclusive.
pub(super) const PROBE_FENCE: &str = "\x1b[c";

/// Something that a terminal is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TerminalProbe {
    /// Name and version.
    Version,
    /// Kitty's keyboard protocol, which tells Shift+Enter and Alt keys apart.
    KittyKeyboard,
    SynchronizedOutput,
    FocusReports,
    BracketedPaste,
    TrueColor,
    BackgroundColor,
    KittyImages,
    /// One of the device attributes.
    Sixel,
    /// How many cells a text takes.
    Width(&'static WidthProbe),
}

/// A text with characters whose width terminals disagree about.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct WidthProbe {
    pub(super) name: &'static str,
    pub(super) text: &'static str,
}

static WIDTHS: [WidthProbe; 8] = [
    WidthProbe {
        name: "CJK",
        text: "漢字",
    },
    WidthProbe {
        name: "emoji",
        text: "😀",
    },
    WidthProbe {
        name: "emoji with variation selector",
        text: "❤\u{fe0f}",
    },
    WidthProbe {
        name: "emoji sequence (ZWJ)",
        text: "👩\u{200d}🔬",
    },
    WidthProbe {
        name: "emoji with skin tone",
        text: "👍🏽",
    },
    WidthProbe {
        name: "flag",
        text: "🇩🇪",
    },
    WidthProbe {
        name: "combining marks",
        text: "e\u{301}a\u{308}",
    },
    WidthProbe {
        name: "ambiguous width",
        text: "→…█",
    },
];

/// What a reply means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ProbeResult {
    /// With details, if there are any.
    Supported(String),
    Unsupported,
    /// A text takes another number of cells than pi assumes.
    WrongWidth {
        assumed: usize,
        actual: usize,
    },
}

impl TerminalProbe {
    /// Returns all probes in the order of a report.
    pub(super) fn all() -> Vec<Self> {
        let mut probes = vec![
            Self::Version,
            Self::KittyKeyboard,
            Self::SynchronizedOutput,
            Self::FocusReports,
            Self::BracketedPaste,
            Self::TrueColor,
            Self::BackgroundColor,
            Self::KittyImages,
            Self::Sixel,
        ];
        probes.extend(WIDTHS.iter().map(Self::Width));
        probes
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Version => "name",
            Self::KittyKeyboard => "Kitty keyboard protocol",
            Self::SynchronizedOutput => "synchronized output",
            Self::FocusReports => "focus reports",
            Self::BracketedPaste => "bracketed paste",
            Self::TrueColor => "true color",
            Self::BackgroundColor => "background color",
            Self::KittyImages => "Kitty images",
            Self::Sixel => "Sixel images",
            Self::Width(probe) => probe.name,
        }
    }

    /// Returns the bytes to write. They leave no text on the screen.
    pub(super) fn query(self) -> String {
        let query = match self {
            Self::Version => "\x1b[>0q",
            Self::KittyKeyboard => "\x1b[?u",
            Self::SynchronizedOutput => "\x1b[?2026$p",
            Self::FocusReports => "\x1b[?1004$p",
            Self::BracketedPaste => "\x1b[?2004$p",
            Self::TrueColor => "\x1b[48:2:1:2:3m\x1bP$qm\x1b\\\x1b[0m",
            Self::BackgroundColor => "\x1b]11;?\x1b\\",
            Self::KittyImages => "\x1b_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA\x1b\\",
            Self::Sixel => "",
            Self::Width(probe) => {
                return format!("\r\x1b[K{}\x1b[6n\r\x1b[K{PROBE_FENCE}", probe.text);
            }
        };
        format!("{query}{PROBE_FENCE}")
    }

    /// Interprets everything that was received until the fence, or until time was up.
    pub(super) fn result(self, reply: &[u8]) -> ProbeResult {
        let reply = String::from_utf8_lossy(reply);
        let found = match self {
            Self::Version => between(&reply, "\x1bP>|", &["\x1b\\", "\x07"]).map(str::to_owned),
            Self::KittyKeyboard => csi(&reply, "?", 'u').map(|_| String::new()),
            Self::SynchronizedOutput => mode(&reply, "?2026;"),
            Self::FocusReports => mode(&reply, "?1004;"),
            Self::BracketedPaste => mode(&reply, "?2004;"),
            Self::TrueColor => between(&reply, "\x1bP1$r", &["\x1b\\", "\x07"])
                .filter(|state| state.contains("48:2") || state.contains("48;2"))
                .map(|_| String::new()),
            Self::BackgroundColor => {
                between(&reply, "\x1b]11;", &["\x1b\\", "\x07"]).map(str::to_owned)
            }
            Self::KittyImages => between(&reply, "\x1b_Gi=31;", &["\x1b\\"])
                .filter(|status| status.starts_with("OK"))
                .map(|_| String::new()),
            Self::Sixel => csi(&reply, "?", 'c')
                .filter(|attributes| attributes.split(';').any(|it| it == "4"))
                .map(|_| String::new()),
            Self::Width(probe) => return width(probe, &reply),
        };
        found.map_or(ProbeResult::Unsupported, |details| {
            ProbeResult::Supported(clean(&details))
        })
    }
}

/// Whether a reply contains the one to the fence.
pub(super) fn ends_probe(reply: &[u8]) -> bool {
    csi(&String::from_utf8_lossy(reply), "?", 'c').is_some()
}

fn width(probe: &WidthProbe, reply: &str) -> ProbeResult {
    let column = csi(reply, "", 'R')
        .and_then(|position| position.split_once(';'))
        .and_then(|(_, column)| column.parse::<usize>().ok());
    let assumed = visible_width(probe.text);
    match column.and_then(|column| column.checked_sub(1)) {
        None => ProbeResult::Unsupported,
        Some(actual) if actual == assumed => ProbeResult::Supported(String::new()),
        Some(actual) => ProbeResult::WrongWidth { assumed, actual },
    }
}

/// Returns the parameters of a control sequence that starts with `marker` and ends with `last`.
fn csi<'a>(reply: &'a str, marker: &str, last: char) -> Option<&'a str> {
    reply.split("\x1b[").skip(1).find_map(|sequence| {
        let sequence = sequence.strip_prefix(marker)?;
        let end = sequence.find(|it: char| !it.is_ascii_digit() && it != ';')?;
        let (parameters, rest) = sequence.split_at_checked(end)?;
        rest.starts_with(last).then_some(parameters)
    })
}

/// Returns an empty text if the report of a mode says that it can be set.
fn mode(reply: &str, marker: &str) -> Option<String> {
    let state = between(reply, &format!("\x1b[{marker}"), &["$y"])?;
    matches!(state, "1" | "2" | "3").then(String::new)
}

fn between<'a>(text: &'a str, start: &str, ends: &[&str]) -> Option<&'a str> {
    let (_, rest) = text.split_once(start)?;
    let found = ends.iter().filter_map(|end| rest.split_once(end));
    found.map(|(part, _)| part).min_by_key(|part| part.len())
}

/// Replies are untrusted text.
fn clean(details: &str) -> String {
    let printable = details.chars().filter(|it| !it.is_control());
    printable.take(60).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn supported(details: &str) -> ProbeResult {
        ProbeResult::Supported(details.to_owned())
    }

    #[test]
    fn replies_are_interpreted() {
        use TerminalProbe as Probe;
        for (probe, reply, expected) in [
            (
                Probe::Version,
                "\x1bP>|kitty(0.40)\x1b\\\x1b[?62c",
                supported("kitty(0.40)"),
            ),
            (Probe::KittyKeyboard, "\x1b[?0u\x1b[?62;c", supported("")),
            (
                Probe::KittyKeyboard,
                "\x1b[?62;4c",
                ProbeResult::Unsupported,
            ),
            (
                Probe::SynchronizedOutput,
                "\x1b[?2026;2$y\x1b[?1c",
                supported(""),
            ),
            (
                Probe::SynchronizedOutput,
                "\x1b[?2026;0$y\x1b[?1c",
                ProbeResult::Unsupported,
            ),
            (
                Probe::TrueColor,
                "\x1bP1$r0;48:2:1:2:3m\x1b\\\x1b[?1c",
                supported(""),
            ),
            (
                Probe::TrueColor,
                "\x1bP0$r\x1b\\\x1b[?1c",
                ProbeResult::Unsupported,
            ),
            (
                Probe::BackgroundColor,
                "\x1b]11;rgb:00/00/00\x07\x1b[?1c",
                supported("rgb:00/00/00"),
            ),
            (
                Probe::KittyImages,
                "\x1b_Gi=31;OK\x1b\\\x1b[?1c",
                supported(""),
            ),
            (
                Probe::KittyImages,
                "\x1b_Gi=31;ENOTSUP\x1b\\\x1b[?1c",
                ProbeResult::Unsupported,
            ),
            (Probe::Sixel, "\x1b[?62;4;22c", supported("")),
            (Probe::Sixel, "\x1b[?62;14c", ProbeResult::Unsupported),
            (Probe::Width(&WIDTHS[0]), "\x1b[3;5R\x1b[?1c", supported("")),
            (
                Probe::Width(&WIDTHS[0]),
                "\x1b[3;3R\x1b[?1c",
                ProbeResult::WrongWidth {
                    assumed: 4,
                    actual: 2,
                },
            ),
        ] {
            assert_eq!(
                probe.result(reply.as_bytes()),
                expected,
                "{probe:?} {reply:?}"
            );
        }
    }

    #[test]
    fn mute_and_garbling_terminals_support_nothing() {
        for reply in [
            &b""[..],
            b"\x1b",
            b"\x1b[",
            b"\x1b[?",
            b"\x1b[;R",
            b"\x1b[9;99999999999999999999999R",
            b"\x1b[0;0R",
            b"\x1bP>|",
            b"\xff\xfe\x1b[\x80c",
            b"typed text\r",
        ] {
            for probe in TerminalProbe::all() {
                assert_eq!(
                    probe.result(reply),
                    ProbeResult::Unsupported,
                    "{probe:?} {reply:?}"
                );
            }
            assert!(!ends_probe(reply));
        }
        assert!(ends_probe(b"\x1b[?1;2c"));
    }

    #[test]
    fn details_have_no_control_characters() {
        let reply = b"\x1bP>|evil\x1b]0;title\x07name\x1b\\";
        let ProbeResult::Supported(details) = TerminalProbe::Version.result(reply) else {
            panic!("a version");
        };
        assert!(details.chars().all(|it| !it.is_control()), "{details:?}");
    }
}
