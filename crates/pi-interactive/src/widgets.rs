//! What extensions show above or below the prompt.

use pi_runtime::ComponentId;
use pi_tui::{ColorToken, Component, Lines, wrap_text};

use crate::extension_view::ExtensionView;
use crate::ui_theme::UiTheme;
use crate::untrusted_text::styled_line;

/// Lines of one widget at most; an extension shall not push the prompt off the screen.
const MAX_LINES: usize = 10;

/// What a widget shows.
#[derive(Debug)]
enum WidgetContent {
    Lines(Vec<String>),
    Component(ExtensionView),
}

/// The widgets of one side of the prompt, the newest last.
#[derive(Debug)]
pub(crate) struct Widgets {
    ui: UiTheme,
    shown: Vec<(String, WidgetContent)>,
}

impl Widgets {
    /// Starts without any.
    pub(crate) fn new(ui: UiTheme) -> Self {
        Self {
            ui,
            shown: Vec::new(),
        }
    }

    /// Takes a widget away.
    pub(crate) fn remove(&mut self, key: &str) {
        self.shown.retain(|(known, _)| known != key);
    }

    /// Takes every widget away.
    pub(crate) fn clear(&mut self) {
        self.shown.clear();
    }

    /// Shows lines; a widget of the same key is gone.
    pub(crate) fn set_lines(&mut self, key: String, lines: Vec<String>) {
        self.remove(&key);
        self.shown.push((key, WidgetContent::Lines(lines)));
    }

    /// Shows a component; a widget of the same key is gone.
    pub(crate) fn set_component(&mut self, key: String, view: ExtensionView) {
        self.remove(&key);
        self.shown.push((key, WidgetContent::Component(view)));
    }

    /// Takes a component away.
    pub(crate) fn remove_component(&mut self, id: ComponentId) {
        self.shown.retain(|(_, content)| match content {
            WidgetContent::Component(view) => view.id() != id,
            WidgetContent::Lines(_) => true,
        });
    }

    /// Returns a component.
    pub(crate) fn component(&mut self, id: ComponentId) -> Option<&mut ExtensionView> {
        self.shown
            .iter_mut()
            .find_map(|(_, content)| match content {
                WidgetContent::Component(view) if view.id() == id => Some(view),
                WidgetContent::Component(_) | WidgetContent::Lines(_) => None,
            })
    }

    fn draw_lines(&self, lines: &[String], width: usize) -> Vec<String> {
        let padding = usize::from(width > 2);
        let room = width.saturating_sub(2 * padding).max(1);
        let side = " ".repeat(padding);
        let mut rows = Vec::new();
        for line in lines.iter().take(MAX_LINES) {
            let wrapped = wrap_text(&styled_line(line), room);
            rows.extend(wrapped.into_iter().map(|row| format!("{side}{row}")));
        }
        if lines.len() > MAX_LINES {
            let ctx = self.ui.context();
            let more = format!("… {} more lines", lines.len() - MAX_LINES);
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
                WidgetContent::Lines(lines) => {
                    rows.extend(self.draw_lines(lines, width).into_iter().map(Into::into));
                }
                WidgetContent::Component(view) => rows.extend(view.render(width).iter().cloned()),
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
    fn widgets_stand_in_the_order_in_which_they_were_set() {
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
    fn a_long_widget_is_cut() {
        let mut widgets = Widgets::new(UiTheme::for_tests());
        let lines = (0..12).map(|number| number.to_string()).collect();
        widgets.set_lines("a".to_owned(), lines);
        let lines = shown(&mut widgets, 40);
        assert_eq!(lines.len(), 11);
        assert_eq!(lines.last().map(String::as_str), Some(" … 2 more lines"));
    }
}
