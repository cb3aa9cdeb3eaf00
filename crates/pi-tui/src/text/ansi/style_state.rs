//! The style that a run of sequences leaves active: SGR attributes, colors and the hyperlink.
//!
//! Wrapping and slicing cut text in the middle of styles. This state reopens the style on the other
//! side of the cut.

use std::fmt::Write as _;
use std::sync::Arc;

/// A color parameter, close to its original form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SgrColor {
    /// A single code: 30-37, 90-97, 40-47 or 100-107.
    Basic(u16),
    Indexed(u16),
    Rgb(u16, u16, u16),
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Hyperlink {
    open: Arc<str>,
    /// Whether the link was opened with BEL. It is closed the same way, because some terminals only
    /// make links clickable whose sequences end in BEL.
    ends_with_bell: bool,
}

/// The style active after the sequences seen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StyleState {
    bold: bool,
    dim: bool,
    italic: bool,
    /// 0 for none, otherwise the underline style (1 single, 2 double, 3 curly, 4 dotted, 5 dashed).
    underline: u16,
    blink: bool,
    inverse: bool,
    hidden: bool,
    strikethrough: bool,
    overline: bool,
    foreground: Option<SgrColor>,
    background: Option<SgrColor>,
    underline_color: Option<SgrColor>,
    hyperlink: Option<Hyperlink>,
}

impl StyleState {
    /// Whether neither a style nor a link is active.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Whether an attribute or color is active, ignoring links.
    pub fn has_attributes(&self) -> bool {
        *self
            != Self {
                hyperlink: self.hyperlink.clone(),
                ..Self::default()
            }
    }

    /// Updates the state with one escape sequence. Sequences that do not affect the style are
    /// ignored.
    pub fn apply(&mut self, sequence: &str) {
        if let Some(target) = hyperlink_target(sequence) {
            self.hyperlink = (!target.is_empty()).then(|| Hyperlink {
                open: Arc::from(sequence),
                ends_with_bell: sequence.ends_with('\x07'),
            });
        } else if let Some(parameters) = sequence
            .strip_prefix("\x1b[")
            .and_then(|body| body.strip_suffix('m'))
            && parameters
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b';' | b':'))
        {
            self.apply_sgr(parameters);
        }
    }

    /// Returns the sequences that bring a plain terminal into this state.
    pub fn open(&self) -> String {
        let mut sequence = String::new();
        self.write_open(&mut sequence);
        sequence
    }

    /// Appends the sequences of [`open`](Self::open).
    pub fn write_open(&self, out: &mut String) {
        let mut codes = SgrWriter { out, any: false };
        for (on, code) in [(self.bold, 1), (self.dim, 2), (self.italic, 3)] {
            codes.flag(on, code);
        }
        match self.underline {
            0 => {}
            1 => codes.code(format_args!("4")),
            kind => codes.code(format_args!("4:{kind}")),
        }
        for (on, code) in [
            (self.blink, 5),
            (self.inverse, 7),
            (self.hidden, 8),
            (self.strikethrough, 9),
            (self.overline, 53),
        ] {
            codes.flag(on, code);
        }
        codes.color(self.foreground, 38);
        codes.color(self.background, 48);
        codes.color(self.underline_color, 58);
        codes.finish();
        if let Some(link) = &self.hyperlink {
            out.push_str(&link.open);
        }
    }

    /// Returns the sequence for the active background alone, or an empty string.
    pub fn background(&self) -> String {
        let mut sequence = String::new();
        let mut codes = SgrWriter {
            out: &mut sequence,
            any: false,
        };
        codes.color(self.background, 48);
        codes.finish();
        sequence
    }

    /// Appends the sequences that must be closed at the end of a line: underline and link would be
    /// visible in the padding.
    ///
    /// Colors stay open, so that a background extends into the padding.
    pub fn write_line_end(&self, out: &mut String) {
        if self.underline != 0 {
            out.push_str("\x1b[24m");
        }
        self.write_link_close(out);
    }

    /// Appends the sequence that closes an open hyperlink, if any.
    pub fn write_link_close(&self, out: &mut String) {
        if let Some(link) = &self.hyperlink {
            out.push_str(if link.ends_with_bell {
                "\x1b]8;;\x07"
            } else {
                "\x1b]8;;\x1b\\"
            });
        }
    }

    fn apply_sgr(&mut self, parameters: &str) {
        let mut groups = parameters.split(';');
        while let Some(group) = groups.next() {
            let mut parts = group.split(':').map(number);
            let code = parts.next().unwrap_or(0);
            if let 38 | 48 | 58 = code {
                let color = if group.contains(':') {
                    colon_color(parts.collect::<Vec<_>>().as_slice())
                } else {
                    semicolon_color(&mut groups)
                };
                self.set_color(code, color);
            } else {
                self.apply_code(code, parts.next());
            }
        }
    }

    fn set_color(&mut self, code: u16, color: Option<SgrColor>) {
        let Some(color) = color else { return };
        match code {
            38 => self.foreground = Some(color),
            48 => self.background = Some(color),
            _ => self.underline_color = Some(color),
        }
    }

    fn apply_code(&mut self, code: u16, detail: Option<u16>) {
        match code {
            0 => {
                // SGR reset leaves the hyperlink open.
                let hyperlink = self.hyperlink.take();
                *self = Self {
                    hyperlink,
                    ..Self::default()
                };
            }
            1 => self.bold = true,
            2 => self.dim = true,
            3 => self.italic = true,
            4 => self.underline = detail.unwrap_or(1).min(5),
            5 | 6 => self.blink = true,
            7 => self.inverse = true,
            8 => self.hidden = true,
            9 => self.strikethrough = true,
            21 => self.underline = 2,
            22 => (self.bold, self.dim) = (false, false),
            23 => self.italic = false,
            24 => self.underline = 0,
            25 => self.blink = false,
            27 => self.inverse = false,
            28 => self.hidden = false,
            29 => self.strikethrough = false,
            30..=37 | 90..=97 => self.foreground = Some(SgrColor::Basic(code)),
            39 => self.foreground = None,
            40..=47 | 100..=107 => self.background = Some(SgrColor::Basic(code)),
            49 => self.background = None,
            53 => self.overline = true,
            55 => self.overline = false,
            59 => self.underline_color = None,
            _ => {}
        }
    }
}

/// Returns the URL of an OSC 8 sequence, which is empty if it closes a link. `None` for other
/// sequences.
pub(in crate::text) fn hyperlink_target(sequence: &str) -> Option<&str> {
    let body = sequence.strip_prefix("\x1b]8;")?;
    let body = body
        .strip_suffix('\x07')
        .or_else(|| body.strip_suffix("\x1b\\"))?;
    body.split_once(';').map(|(_, target)| target)
}

fn number(text: &str) -> u16 {
    text.bytes().fold(0_u16, |value, byte| {
        value
            .saturating_mul(10)
            .saturating_add(u16::from(byte.saturating_sub(b'0')))
    })
}

/// Parses `5;n` or `2;r;g;b` after a 38, 48 or 58.
fn semicolon_color<'a>(groups: &mut impl Iterator<Item = &'a str>) -> Option<SgrColor> {
    match number(groups.next()?) {
        5 => Some(SgrColor::Indexed(number(groups.next()?))),
        2 => Some(SgrColor::Rgb(
            number(groups.next()?),
            number(groups.next()?),
            number(groups.next()?),
        )),
        _ => None,
    }
}

/// Parses `5:n`, `2:r:g:b` or `2:colorspace:r:g:b`.
fn colon_color(parts: &[u16]) -> Option<SgrColor> {
    match *parts {
        [5, index, ..] => Some(SgrColor::Indexed(index)),
        [2, red, green, blue] | [2, _, red, green, blue, ..] => {
            Some(SgrColor::Rgb(red, green, blue))
        }
        _ => None,
    }
}

/// Writes one SGR sequence, parameter by parameter.
struct SgrWriter<'a> {
    out: &'a mut String,
    any: bool,
}

impl SgrWriter<'_> {
    fn code(&mut self, code: std::fmt::Arguments<'_>) {
        self.out.push_str(if self.any { ";" } else { "\x1b[" });
        self.any = true;
        // Writing to a string cannot fail.
        self.out.write_fmt(code).unwrap_or_default();
    }

    fn flag(&mut self, on: bool, code: u8) {
        if on {
            self.code(format_args!("{code}"));
        }
    }

    fn color(&mut self, color: Option<SgrColor>, base: u8) {
        match color {
            None => {}
            Some(SgrColor::Basic(code)) => self.code(format_args!("{code}")),
            Some(SgrColor::Indexed(index)) => self.code(format_args!("{base};5;{index}")),
            Some(SgrColor::Rgb(red, green, blue)) => {
                self.code(format_args!("{base};2;{red};{green};{blue}"));
            }
        }
    }

    fn finish(self) {
        if self.any {
            self.out.push('m');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn after(sequences: &[&str]) -> String {
        let mut state = StyleState::default();
        for sequence in sequences {
            state.apply(sequence);
        }
        state.open()
    }

    #[test]
    fn active_style_is_reopened() {
        let cases: &[(&[&str], &str)] = &[
            (&["\x1b[1;31m"], "\x1b[1;31m"),
            (&["\x1b[1m", "\x1b[22m"], ""),
            (&["\x1b[38;5;240;48;2;1;2;3m"], "\x1b[38;5;240;48;2;1;2;3m"),
            (&["\x1b[38:2::1:2:3m"], "\x1b[38;2;1;2;3m"),
            (&["\x1b[38:5:7m"], "\x1b[38;5;7m"),
            (&["\x1b[4:3;58;5;1m"], "\x1b[4:3;58;5;1m"),
            (&["\x1b[4m", "\x1b[4:0m"], ""),
            (&["\x1b[31;44m", "\x1b[39m"], "\x1b[44m"),
            (&["\x1b[31m", "\x1b[m"], ""),
            (&["\x1b[31m", "\x1b[0;1m"], "\x1b[1m"),
            (&["\x1b[99999999999999m"], ""),
            (&["\x1b[38;5m"], ""),
            (&["\x1b[2J", "\x1b[>4;2m", "\x1b[?1m"], ""),
            (
                &["\x1b]8;;http://x\x1b\\", "\x1b[0m"],
                "\x1b]8;;http://x\x1b\\",
            ),
            (&["\x1b]8;id=1;http://x\x07", "\x1b]8;;\x07"], ""),
        ];
        for (sequences, expected) in cases {
            assert_eq!(&after(sequences), expected, "{sequences:?}");
        }
    }

    #[test]
    fn a_line_end_closes_underline_and_link_the_way_they_were_opened() {
        let mut state = StyleState::default();
        state.apply("\x1b[4;41m");
        state.apply("\x1b]8;;u\x07");
        let mut out = String::new();
        state.write_line_end(&mut out);
        assert_eq!(out, "\x1b[24m\x1b]8;;\x07");
        assert_eq!(state.background(), "\x1b[41m");
    }
}
