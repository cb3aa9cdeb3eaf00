//! The theme selector with preview: one theme, or one each for light and dark terminals.

use pi_protocol::settings::SettingChange;
use pi_tui::{ColorScheme, ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::canvas::{DialogCanvas, HitTarget, RowPriority};
use super::frame::DialogBody;
use super::hint::Hint;
use super::intent_sink::IntentSink;
use super::list_body::ListBody;
use super::picker::{EdgeBehavior, Picker, PickerEvent};
use super::plain_text::one_line;
use crate::dialogs::intent::Intent;

const MAX_ROWS: usize = 10;

#[derive(Clone, Debug)]
pub struct ThemeDialogOptions {
    pub names: Vec<String>,
    /// The value of the setting: a name, or `light/dark` names.
    pub setting: String,
    /// The terminal's current color scheme.
    pub scheme: ColorScheme,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SchemeHalf {
    Light,
    Dark,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ThemeStep {
    /// One theme, or follow the terminal.
    One,
    /// The pair of themes.
    Pair,
    /// One of the pair.
    Half(SchemeHalf),
}

#[derive(Debug)]
pub(crate) struct ThemeDialog {
    options: ThemeDialogOptions,
    step: ThemeStep,
    one: String,
    light: String,
    dark: String,
    picker: Picker,
}

impl ThemeDialog {
    /// Returns the body, which the settings dialog embeds.
    pub(super) fn new(options: ThemeDialogOptions) -> Self {
        let pair = options.setting.split_once('/');
        let fallback = |name: &str| {
            let known = options.names.iter().find(|other| *other == name);
            known.unwrap_or(&options.setting).clone()
        };
        let (light, dark) = match (pair, options.scheme) {
            (Some((light, dark)), _) => (light.to_owned(), dark.to_owned()),
            (None, ColorScheme::Light) => (options.setting.clone(), fallback("dark")),
            (None, ColorScheme::Dark) => (fallback("light"), options.setting.clone()),
        };
        let one = match options.scheme {
            ColorScheme::Light => light.clone(),
            ColorScheme::Dark => dark.clone(),
        };
        let mut body = Self {
            step: if pair.is_some() {
                ThemeStep::Pair
            } else {
                ThemeStep::One
            },
            options,
            one,
            light,
            dark,
            picker: Picker::new(0, EdgeBehavior::Wrap),
        };
        body.enter(body.step);
        body
    }

    fn enter(&mut self, step: ThemeStep) {
        self.step = step;
        let names = &self.options.names;
        let position = |name: &str| names.iter().position(|other| other == name);
        let (count, selected) = match step {
            ThemeStep::One => (
                names.len() + 1,
                position(&self.one).map_or(0, |position| position + 1),
            ),
            ThemeStep::Pair => (4, 0),
            ThemeStep::Half(half) => (names.len(), position(self.half(half)).unwrap_or(0)),
        };
        self.picker = Picker::new(count, EdgeBehavior::Wrap);
        self.picker.select(selected);
    }

    fn half(&self, half: SchemeHalf) -> &str {
        match half {
            SchemeHalf::Light => &self.light,
            SchemeHalf::Dark => &self.dark,
        }
    }

    fn pair(&self) -> String {
        format!("{}/{}", self.light, self.dark)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.options.names.get(index).cloned()
    }

    /// Previews the selection.
    fn preview(&self, sink: &mut IntentSink) {
        let selected = self.picker.selected();
        let shown = match self.step {
            ThemeStep::One if selected == 0 => Some(self.pair()),
            ThemeStep::One => self.name(selected - 1),
            ThemeStep::Pair => Some(self.pair()),
            ThemeStep::Half(_) => self.name(selected),
        };
        if let Some(theme) = shown {
            sink.send(Intent::PreviewTheme(theme));
        }
    }

    fn confirm(&mut self, sink: &mut IntentSink) {
        let selected = self.picker.selected();
        match (self.step, selected) {
            (ThemeStep::One, 0) => {
                self.enter(ThemeStep::Pair);
                self.preview(sink);
            }
            (ThemeStep::One, _) => {
                if let Some(theme) = self.name(selected - 1) {
                    sink.finish(Intent::ChangeSetting(SettingChange::Theme(theme)));
                }
            }
            (ThemeStep::Pair, 0) => self.enter(ThemeStep::Half(SchemeHalf::Light)),
            (ThemeStep::Pair, 1) => self.enter(ThemeStep::Half(SchemeHalf::Dark)),
            (ThemeStep::Pair, 2) => {
                sink.finish(Intent::ChangeSetting(SettingChange::Theme(self.pair())));
            }
            (ThemeStep::Pair, _) => {
                self.enter(ThemeStep::One);
                self.preview(sink);
            }
            (ThemeStep::Half(half), _) => {
                if let Some(name) = self.name(selected) {
                    match half {
                        SchemeHalf::Light => self.light = name,
                        SchemeHalf::Dark => self.dark = name,
                    }
                }
                self.back_to_pair(half, sink);
            }
        }
    }

    fn back_to_pair(&mut self, half: SchemeHalf, sink: &mut IntentSink) {
        self.enter(ThemeStep::Pair);
        self.picker.select(usize::from(half == SchemeHalf::Dark));
        self.preview(sink);
    }

    fn label(&self, index: usize) -> (String, &'static str) {
        let marked = |name: &str, current: &str| {
            let mark = if name == current { "✓ " } else { "  " };
            format!("{mark}{}", one_line(name))
        };
        let theme = |index: usize| self.name(index).unwrap_or_default();
        match (self.step, index) {
            (ThemeStep::One, 0) => (
                "  follow the terminal".to_owned(),
                "  use its light or dark mode",
            ),
            (ThemeStep::One, _) => (marked(&theme(index - 1), &self.one), ""),
            (ThemeStep::Pair, 0) => (format!("light: {}", one_line(&self.light)), ""),
            (ThemeStep::Pair, 1) => (format!("dark:  {}", one_line(&self.dark)), ""),
            (ThemeStep::Pair, 2) => ("use this pair".to_owned(), ""),
            (ThemeStep::Pair, _) => ("use a single theme".to_owned(), ""),
            (ThemeStep::Half(half), _) => (marked(&theme(index), self.half(half)), ""),
        }
    }
}

impl ListBody for ThemeDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn on_pick(&mut self, picked: PickerEvent, sink: &mut IntentSink) {
        match (picked, self.step) {
            (PickerEvent::Moved, ThemeStep::Pair) => {}
            (PickerEvent::Moved, ThemeStep::One | ThemeStep::Half(_)) => self.preview(sink),
            (PickerEvent::Confirmed, _) => self.confirm(sink),
            (PickerEvent::Canceled, ThemeStep::Half(half)) => self.back_to_pair(half, sink),
            (PickerEvent::Canceled, ThemeStep::One | ThemeStep::Pair) => {
                sink.finish(Intent::EndThemePreview);
            }
        }
    }
}

impl DialogBody for ThemeDialog {
    fn paint(&mut self, canvas: &mut DialogCanvas) {
        let (title, text) = match self.step {
            ThemeStep::One => ("Theme", "The selected theme is previewed."),
            ThemeStep::Pair => (
                "Themes for light and dark terminals",
                "Follows the terminal's light or dark mode, if the terminal reports it.",
            ),
            ThemeStep::Half(SchemeHalf::Light) => ("Theme for light terminals", ""),
            ThemeStep::Half(SchemeHalf::Dark) => ("Theme for dark terminals", ""),
        };
        canvas.title(title);
        if !text.is_empty() {
            canvas.text(RowPriority::Help, ColorToken::Muted, text);
        }
        canvas.blank();
        let visible = self.picker.visible_range(canvas.list_rows(MAX_ROWS, 1, 1));
        let cut = visible.len() < self.picker.count();
        for index in visible {
            let (label, note) = self.label(index);
            let note = canvas.paint(ColorToken::Muted, note);
            canvas.choice(index, index == self.picker.selected(), &label, &note);
        }
        if cut {
            canvas.position(self.picker.selected(), self.picker.count(), "");
        }
        canvas.blank();
        canvas.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("back"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> InputOutcome {
        self.handle_list_key(event, context, sink)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<HitTarget>,
        _context: &InputContext<'_>,
        sink: &mut IntentSink,
    ) -> bool {
        self.handle_list_mouse(event, hit, sink)
    }
}

#[cfg(test)]
mod tests;
