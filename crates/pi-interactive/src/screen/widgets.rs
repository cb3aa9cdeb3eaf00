//! Extension widgets above and below the prompt.

use pi_host::ComponentId;
use pi_tui::{ColorToken, Component, Lines, styled_line, wrap_text};
use pi_views::theme::ui_theme::UiTheme;

use crate::extensions::view::ExtensionView;

/// Maximum lines per widget, so that an extension cannot push the prompt off the screen.
const MAX_LINES: usize = 10;

/// Maximum length of a line in bytes. Lines are wrapped in every frame, and characters without a width never fill a row.
const MAX_LINE_BYTES: usize = 4096;

/// Maximum rows of a component, more than a terminal has.
const MAX_COMPONENT_ROWS: usize = 500;

#[derive(Debug)]
enum WidgetContent {
    Lines {
        /// The lines that are shown.
        first: Vec<String>,
        more: usize,
    },
    Component(ExtensionView),
}

/// The widgets on one side of the prompt, newest last.
#[derive(Debug)]
pub(crate) struct Widgets {
    ui: UiTheme,
    shown: Vec<(String, WidgetContent)>,
}

impl Widgets {
    pub(crate) fn new(ui: UiTheme) -> Self {
        Self {
            ui,
            shown: Vec::new(),
        }
    }

    pub(crate) fn remove(&mut self, key: &str) {
        self.shown.retain(|(known, _)| known != key);
    }

    pub(crate) fn clear(&mut self) {
        self.shown.clear();
    }

    /// Shows lines; replaces a widget with the same key.
    pub(crate) fn set_lines(&mut self, key: String, lines: Vec<String>) {
        self.remove(&key);
        let more = lines.len().saturating_sub(MAX_LINES);
        let mut first = lines;
        first.truncate(MAX_LINES);
        for line in &mut first {
            line.truncate(line.floor_char_boundary(MAX_LINE_BYTES));
        }
        self.shown.push((key, WidgetContent::Lines { first, more }));
    }

    /// Shows a component; replaces a widget with the same key.
    pub(crate) fn set_component(&mut self, key: String, view: ExtensionView) {
        self.remove(&key);
        self.shown.push((key, WidgetContent::Component(view)));
    }

    pub(crate) fn remove_component(&mut self, id: ComponentId) {
        self.shown.retain(|(_, content)| match content {
            WidgetContent::Component(view) => view.id() != id,
            WidgetContent::Lines { .. } => true,
        });
    }

    pub(crate) fn component(&mut self, id: ComponentId) -> Option<&mut ExtensionView> {
        self.shown
            .iter_mut()
            .find_map(|(_, content)| match content {
                WidgetContent::Component(view) if view.id() == id => Some(view),
                WidgetContent::Component(_) | WidgetContent::Lines { .. } => None,
            })
    }

    fn draw_lines(&self, lines: &[String], more: usize, width: usize) -> Vec<String> {
        let padding = usize::from(width > 2);
        let room = width.saturating_sub(2 * padding).max(1);
        let side = " ".repeat(padding);
        let mut rows = Vec::new();
        for line in lines {
            let wrapped = wrap_text(&styled_line(line), room);
            rows.extend(wrapped.into_iter().map(|row| format!("{side}{row}")));
        }
        if more > 0 {
            let ctx = self.ui.context();
            let more = format!("… {more} more lines");
            rows.push(format!("{side}{}", ctx.paint(ColorToken::Muted, &more)));
        }
        rows
    }
}

impl Component for Widgets {
    fn render(&mut self, width: usize) -> Lines {
        let mut rows = Vec::new();
        let mut shown = std::mem::take(&mut self.shown);
        for (_, content) in &mut shown {
            match content {
                WidgetContent::Lines { first, more } => {
                    let lines = self.draw_lines(first, *more, width);
                    rows.extend(lines.into_iter().map(Into::into));
                }
                WidgetContent::Component(view) => {
                    let lines = view.render(width);
                    rows.extend(lines.iter().take(MAX_COMPONENT_ROWS).cloned());
                }
            }
        }
        self.shown = shown;
        rows.into()
    }

    fn invalidate(&mut self) {
        for (_, content) in &mut self.shown {
            if let WidgetContent::Component(view) = content {
                view.invalidate();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn shown(widgets: &mut Widgets, width: usize) -> Vec<String> {
        let lines = widgets.render(width);
        let plain = lines
            .iter()
            .map(|line| pi_tui::strip_ansi(line).into_owned());
        plain.collect()
    }

    #[test]
    fn widgets_are_shown_in_insertion_order() {
        let mut widgets = Widgets::new(UiTheme::for_tests());
        let line = |text: &str| vec![text.to_owned()];
        widgets.set_lines("a".to_owned(), line("first"));
        widgets.set_lines("b".to_owned(), line("second"));
        widgets.set_lines("a".to_owned(), line("first \x1b[2Jagain, longer"));
        assert_eq!(
            shown(&mut widgets, 16),
            [" second", " first again,", " longer"]
        );
        widgets.remove("b");
        assert_eq!(shown(&mut widgets, 40), [" first again, longer"]);
    }

    #[test]
    fn a_long_widget_is_truncated() {
        let mut widgets = Widgets::new(UiTheme::for_tests());
        let lines = (0..12).map(|number| number.to_string()).collect();
        widgets.set_lines("a".to_owned(), lines);
        let lines = shown(&mut widgets, 40);
        assert_eq!(lines.len(), 11);
        assert_eq!(lines.last().map(String::as_str), Some(" … 2 more lines"));
    }

    #[test]
    fn a_frame_does_not_depend_on_the_size_of_a_widget() {
        let mut widgets = Widgets::new(UiTheme::for_tests());
        let marks = "e\u{301}".repeat(10_000);
        widgets.set_lines("a".to_owned(), vec![marks; 1000]);
        let lines = widgets.render(40);
        let bytes: usize = lines.iter().map(|line| line.len()).sum();
        assert!(bytes < 4 * MAX_LINES * MAX_LINE_BYTES, "{bytes}");
    }
}
