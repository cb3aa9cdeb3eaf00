//! The header at the top of the transcript: program name, key hints, loaded resources.

use pi_tui::{ColorToken, Lines, visible_width, wrap_text};
use pi_views::keys;
use pi_views::theme::ui_theme::RenderContext;

use crate::blocks::block::TranscriptBlock;
use crate::blocks::{BlockCanvas, clean, clean_line};

const INDENT: &str = "  ";

/// The letter pi, in two lines of half blocks.
const LOGO: [&str; 2] = ["▀█▀█", " █ █"];

/// Width of the logo and the space after it.
const LOGO_WIDTH: usize = 5;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderData {
    /// As printed by `--version`.
    pub(crate) version: String,
    /// Whether the name and the key hints are omitted.
    pub(crate) quiet: bool,
    /// Whether the terminal draws half blocks without gaps.
    pub(crate) has_logo: bool,
    /// Loaded resources, such as skills.
    pub(crate) sections: Vec<HeaderSection>,
}

/// A list in the header; `names` is the short form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderSection {
    pub(crate) title: String,
    pub(crate) names: Vec<String>,
    /// The long form, one line each.
    pub(crate) details: Vec<String>,
    /// Whether it lists problems.
    pub(crate) is_problem: bool,
}

#[derive(Debug)]
pub(crate) struct HeaderBlock {
    data: HeaderData,
    /// An extension shows a component instead of the name and key hints.
    title_hidden: bool,
    expanded: bool,
    generation: u64,
}

impl HeaderBlock {
    /// Hides or shows the name and key hints.
    pub(crate) fn set_title_hidden(&mut self, title_hidden: bool) {
        self.title_hidden = title_hidden;
        self.generation += 1;
    }

    pub(crate) fn new(data: HeaderData) -> Self {
        Self {
            data,
            title_hidden: false,
            expanded: false,
            generation: 0,
        }
    }
}

/// Returns the key hints, most useful first, as short and long forms.
fn hints(ctx: &RenderContext) -> (Vec<String>, Vec<String>) {
    let key = |action: &str| ctx.key(action);
    let short = vec![
        format!("{} interrupt", key(keys::INTERRUPT)),
        format!("{} clear/exit", key(keys::CLEAR)),
        "/ commands".to_owned(),
        "! shell".to_owned(),
        format!("{} more", key(keys::TOOLS_EXPAND)),
    ];
    let with_key = |action: &str, what: &str| format!("{} {what}", ctx.keys(action));
    let long = vec![
        with_key(keys::INTERRUPT, "interrupt"),
        with_key(keys::CLEAR, "clear the editor; press twice to exit"),
        with_key(keys::EXIT, "exit if the editor is empty"),
        with_key(keys::SUSPEND, "suspend to the shell"),
        with_key(keys::THINKING_CYCLE, "cycle the thinking level"),
        format!(
            "{}/{} cycle models",
            key(keys::MODEL_CYCLE_FORWARD),
            key(keys::MODEL_CYCLE_BACKWARD)
        ),
        with_key(keys::MODEL_SELECT, "select a model"),
        with_key(keys::TOOLS_EXPAND, "expand or collapse details"),
        with_key(keys::THINKING_TOGGLE, "show or hide thinking"),
        with_key(keys::EDITOR_EXTERNAL, "open the external editor"),
        "/ commands".to_owned(),
        "! run a shell command".to_owned(),
        "!! run a shell command, excluded from context".to_owned(),
        with_key(keys::MESSAGE_FOLLOW_UP, "queue a follow-up message"),
        with_key(keys::MESSAGE_DEQUEUE, "edit queued messages"),
        with_key(keys::CLIPBOARD_PASTE_IMAGE, "paste an image"),
    ];
    // Without a key bound, a hint starts with a space.
    let usable = |hints: Vec<String>| -> Vec<String> {
        hints
            .into_iter()
            .filter(|hint| !hint.starts_with([' ', '/']) || hint.starts_with("/ "))
            .collect()
    };
    (usable(short), usable(long))
}

impl HeaderBlock {
    fn draw_title(&self, canvas: &mut BlockCanvas<'_>) {
        let ctx = canvas.ctx;
        let name = ctx.style(ColorToken::Accent).bold().apply("pi");
        let version = clean_line(&format!(" v{}", self.data.version));
        let (short, long) = hints(ctx);
        let first = if self.expanded {
            long.first().map_or(0, |hint| visible_width(hint))
        } else {
            visible_width(&short.join(" · "))
        };
        let has_logo = self.data.has_logo && canvas.width() >= LOGO_WIDTH + first;
        let [top, bottom] = if has_logo {
            LOGO.map(|row| format!("{} ", ctx.paint(ColorToken::Accent, row)))
        } else {
            [const { String::new() }; 2]
        };
        canvas.styled(&format!(
            "{top}{name}{}",
            ctx.paint(ColorToken::Dim, &version)
        ));
        if self.expanded {
            for (index, hint) in long.iter().enumerate() {
                let (key, what) = hint.split_once(' ').unwrap_or((hint, ""));
                let margin = match index {
                    0 => bottom.as_str(),
                    _ if has_logo => "     ",
                    _ => "",
                };
                canvas.styled(&format!(
                    "{margin}{} {}",
                    ctx.paint(ColorToken::Dim, key),
                    ctx.paint(ColorToken::Muted, what)
                ));
            }
        } else {
            let hints = ctx.paint(ColorToken::Muted, &short.join(" · "));
            canvas.styled(&format!("{bottom}{hints}"));
        }
    }

    fn draw_section(&self, section: &HeaderSection, canvas: &mut BlockCanvas<'_>) {
        let ctx = canvas.ctx;
        let token = if section.is_problem {
            ColorToken::Warning
        } else {
            ColorToken::MdHeading
        };
        canvas.text(token, &format!("[{}]", clean_line(&section.title)));
        let shown: Vec<String> = if self.expanded || section.names.is_empty() {
            section
                .details
                .iter()
                .map(|line| clean(line).into_owned())
                .collect()
        } else {
            vec![clean_line(&section.names.join(", "))]
        };
        let indent = if canvas.width() > INDENT.len() {
            INDENT
        } else {
            ""
        };
        let room = canvas.width() - indent.len();
        for line in shown {
            let line = ctx.paint(ColorToken::Dim, &line);
            let rows = wrap_text(&line, room);
            canvas.rows(rows.into_iter().map(|row| format!("{indent}{row}")));
        }
    }
}

impl TranscriptBlock for HeaderBlock {
    fn lines(&mut self, width: usize, ctx: &RenderContext) -> Lines {
        let mut lines = Vec::new();
        if !self.data.quiet && !self.title_hidden {
            let mut canvas = BlockCanvas::new(width, 1, ctx);
            self.draw_title(&mut canvas);
            lines.extend(canvas.plain());
        }
        for section in &self.data.sections {
            let mut canvas = BlockCanvas::new(width, 0, ctx);
            self.draw_section(section, &mut canvas);
            lines.extend(canvas.plain());
        }
        lines.into()
    }

    fn generation(&self) -> u64 {
        self.generation
    }

    fn set_expanded(&mut self, expanded: bool) {
        if self.expanded != expanded {
            self.expanded = expanded;
            self.generation += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    fn shown(header: &mut HeaderBlock, width: usize) -> Vec<String> {
        let lines = header.lines(width, &RenderContext::for_tests());
        assert!(
            lines
                .iter()
                .all(|line| pi_tui::visible_width(line) <= width)
        );
        lines
            .iter()
            .map(|line| pi_tui::strip_ansi(line).into_owned())
            .collect()
    }

    fn header(quiet: bool) -> HeaderBlock {
        HeaderBlock::new(HeaderData {
            version: "1.2.3".to_owned(),
            quiet,
            has_logo: true,
            sections: vec![HeaderSection {
                title: "Skills".to_owned(),
                names: vec!["baking".to_owned(), "knit\x1b[2Jting".to_owned()],
                details: vec!["baking  ~/skills/baking".to_owned()],
                is_problem: false,
            }],
        })
    }

    #[test]
    fn the_short_form_lists_keys_and_resources() {
        assert_eq!(
            shown(&mut header(false), 80),
            [
                "",
                " ▀█▀█ pi v1.2.3",
                "  █ █ escape interrupt · ctrl+c clear/exit · / commands · ! shell · ctrl+o more",
                "",
                "[Skills]",
                "  baking, knitting",
            ]
        );
    }

    #[test]
    fn the_name_stays_where_the_logo_cannot_be_drawn() {
        let mut plain = header(false);
        plain.data.has_logo = false;
        assert_eq!(shown(&mut plain, 90).get(1).unwrap(), " pi v1.2.3");
        assert_eq!(shown(&mut header(false), 60).get(1).unwrap(), " pi v1.2.3");
    }

    #[test]
    fn the_long_form_lists_all_keys_and_paths() {
        let mut header = header(false);
        header.set_expanded(true);
        let lines = shown(&mut header, 80);
        assert!(lines.contains(&"      ctrl+p/shift+ctrl+p cycle models".to_owned()));
        assert!(lines.contains(&"  baking  ~/skills/baking".to_owned()));
    }

    #[test]
    fn the_quiet_form_lists_only_resources_at_any_width() {
        assert_eq!(shown(&mut header(true), 80).len(), 3);
        for width in 1..20 {
            shown(&mut header(false), width);
        }
    }
}
