//! What stands at the top of the transcript: the program's name, the most useful keys, and what was
//! loaded.

use pi_tui::{ColorToken, Lines, wrap_text};

use crate::block::Block;
use crate::blocks::{BlockCanvas, clean, clean_line};
use crate::keys;
use crate::ui_theme::RenderContext;

/// What stands before the lines of a list.
const INDENT: &str = "  ";

/// What the header says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderData {
    /// The version, as `--version` prints it.
    pub(crate) version: String,
    /// Whether the name and the keys are left out.
    pub(crate) quiet: bool,
    /// Lists of what was loaded, such as skills: a title, the short list, and the full one.
    pub(crate) sections: Vec<HeaderSection>,
}

/// A list in the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HeaderSection {
    pub(crate) title: String,
    pub(crate) names: Vec<String>,
    /// The long form, one line each.
    pub(crate) details: Vec<String>,
    /// Whether it tells of problems.
    pub(crate) is_problem: bool,
}

/// The header.
#[derive(Debug)]
pub(crate) struct HeaderBlock {
    data: HeaderData,
    /// An extension shows something in the place of the name and the keys.
    title_hidden: bool,
    expanded: bool,
    generation: u64,
}

impl HeaderBlock {
    /// Makes room for what an extension shows, or shows the name and the keys again.
    pub(crate) fn set_title_hidden(&mut self, title_hidden: bool) {
        self.title_hidden = title_hidden;
        self.generation += 1;
    }

    /// Makes a header.
    pub(crate) fn new(data: HeaderData) -> Self {
        Self {
            data,
            title_hidden: false,
            expanded: false,
            generation: 0,
        }
    }
}

/// What the header says about keys, most useful first: the short form, and the long one.
fn hints(ctx: &RenderContext) -> (Vec<String>, Vec<String>) {
    let key = |action: &str| ctx.key(action);
    let short = vec![
        format!("{} stop", key(keys::INTERRUPT)),
        format!("{} clear, twice exit", key(keys::CLEAR)),
        "/ commands".to_owned(),
        "! shell".to_owned(),
        format!("{} more", key(keys::TOOLS_EXPAND)),
    ];
    let with_key = |action: &str, what: &str| format!("{} {what}", ctx.keys(action));
    let long = vec![
        with_key(keys::INTERRUPT, "stops what is going on"),
        with_key(keys::CLEAR, "clears the prompt, twice exits"),
        with_key(keys::EXIT, "exits when the prompt is empty"),
        with_key(keys::SUSPEND, "suspends to the shell"),
        with_key(keys::THINKING_CYCLE, "changes how much the model thinks"),
        format!(
            "{}/{} changes the model",
            key(keys::MODEL_CYCLE_FORWARD),
            key(keys::MODEL_CYCLE_BACKWARD)
        ),
        with_key(keys::MODEL_SELECT, "chooses a model from a list"),
        with_key(keys::TOOLS_EXPAND, "shows or hides details"),
        with_key(keys::THINKING_TOGGLE, "shows or hides thinking"),
        with_key(keys::EDITOR_EXTERNAL, "edits the prompt in your editor"),
        "/ commands".to_owned(),
        "! runs a shell command that the model sees".to_owned(),
        "!! runs one that it does not see".to_owned(),
        with_key(keys::MESSAGE_FOLLOW_UP, "queues a message for later"),
        with_key(keys::MESSAGE_DEQUEUE, "takes queued messages back"),
        with_key(keys::CLIPBOARD_PASTE_IMAGE, "pastes an image"),
    ];
    // A hint whose key the user took away begins with a space.
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
        canvas.styled(&format!("{name}{}", ctx.paint(ColorToken::Dim, &version)));
        let (short, long) = hints(ctx);
        if self.expanded {
            for hint in long {
                let (key, what) = hint.split_once(' ').unwrap_or((&hint, ""));
                canvas.styled(&format!(
                    "{} {}",
                    ctx.paint(ColorToken::Dim, key),
                    ctx.paint(ColorToken::Muted, what)
                ));
            }
        } else {
            canvas.text(ColorToken::Muted, &short.join(" · "));
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

impl Block for HeaderBlock {
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
            sections: vec![HeaderSection {
                title: "Skills".to_owned(),
                names: vec!["baking".to_owned(), "knit\x1b[2Jting".to_owned()],
                details: vec!["baking  ~/skills/baking".to_owned()],
                is_problem: false,
            }],
        })
    }

    #[test]
    fn the_short_form_names_the_keys_and_what_was_loaded() {
        assert_eq!(
            shown(&mut header(false), 80),
            [
                "",
                " pi v1.2.3",
                " escape stop · ctrl+c clear, twice exit · / commands · ! shell · ctrl+o more",
                "",
                "[Skills]",
                "  baking, knitting",
            ]
        );
    }

    #[test]
    fn expanded_it_tells_every_key_and_where_things_are() {
        let mut header = header(false);
        header.set_expanded(true);
        let lines = shown(&mut header, 80);
        assert!(lines.contains(&" ctrl+p/shift+ctrl+p changes the model".to_owned()));
        assert!(lines.contains(&"  baking  ~/skills/baking".to_owned()));
    }

    #[test]
    fn quiet_it_lists_only_what_was_loaded_and_nothing_breaks_when_it_is_narrow() {
        assert_eq!(shown(&mut header(true), 80).len(), 3);
        for width in 1..20 {
            shown(&mut header(false), width);
        }
    }
}
