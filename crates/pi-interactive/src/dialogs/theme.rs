//! Choosing a theme, seen at once: one for always, or one each for light and dark terminals.

use pi_tui::{ColorScheme, ColorToken, InputContext, InputEvent, InputOutcome, MouseEvent, action};

use super::hint::Hint;
use super::list_pane::ListPane;
use super::outbox::Outbox;
use super::picker::{Edge, Picked, Picker};
use super::plain::one_line;
use super::sheet::{Hit, Sheet, Weight};
use super::window::Pane;
use crate::intent::{Intent, SettingChange};

const MOST_ROWS: usize = 10;

/// What the theme dialog begins with.
#[derive(Clone, Debug)]
pub(crate) struct ThemeChoices {
    /// The names of all themes.
    pub(crate) names: Vec<String>,
    /// The setting: a name, or `light/dark` names.
    pub(crate) setting: String,
    /// What the terminal is at the moment.
    pub(crate) scheme: ColorScheme,
}

/// Which of two themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    Light,
    Dark,
}

/// What is chosen at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// One theme, or to follow the terminal.
    One,
    /// The two themes as a whole.
    Pair,
    /// One of the two.
    Half(Half),
}

/// The dialog that chooses a theme.
#[derive(Debug)]
pub(crate) struct ThemeDialog {
    choices: ThemeChoices,
    stage: Stage,
    one: String,
    light: String,
    dark: String,
    picker: Picker,
}

impl ThemeDialog {
    /// Returns the inside of the dialog, which the settings show.
    pub(super) fn new(choices: ThemeChoices) -> Self {
        let pair = choices.setting.split_once('/');
        let usual = |name: &str| {
            let known = choices.names.iter().find(|other| *other == name);
            known.unwrap_or(&choices.setting).clone()
        };
        let (light, dark) = match (pair, choices.scheme) {
            (Some((light, dark)), _) => (light.to_owned(), dark.to_owned()),
            (None, ColorScheme::Light) => (choices.setting.clone(), usual("dark")),
            (None, ColorScheme::Dark) => (usual("light"), choices.setting.clone()),
        };
        let one = match choices.scheme {
            ColorScheme::Light => light.clone(),
            ColorScheme::Dark => dark.clone(),
        };
        let mut pane = Self {
            stage: if pair.is_some() {
                Stage::Pair
            } else {
                Stage::One
            },
            choices,
            one,
            light,
            dark,
            picker: Picker::new(0, Edge::Wrap),
        };
        pane.enter(pane.stage);
        pane
    }

    fn enter(&mut self, stage: Stage) {
        self.stage = stage;
        let names = &self.choices.names;
        let place = |name: &str| names.iter().position(|other| other == name);
        let (count, selected) = match stage {
            Stage::One => (
                names.len() + 1,
                place(&self.one).map_or(0, |place| place + 1),
            ),
            Stage::Pair => (4, 0),
            Stage::Half(half) => (names.len(), place(self.half(half)).unwrap_or(0)),
        };
        self.picker = Picker::new(count, Edge::Wrap);
        self.picker.select(selected);
    }

    fn half(&self, half: Half) -> &str {
        match half {
            Half::Light => &self.light,
            Half::Dark => &self.dark,
        }
    }

    fn pair(&self) -> String {
        format!("{}/{}", self.light, self.dark)
    }

    fn name(&self, index: usize) -> Option<String> {
        self.choices.names.get(index).cloned()
    }

    /// Shows what is selected.
    fn preview(&self, outbox: &mut Outbox) {
        let selected = self.picker.selected();
        let shown = match self.stage {
            Stage::One if selected == 0 => Some(self.pair()),
            Stage::One => self.name(selected - 1),
            Stage::Pair => Some(self.pair()),
            Stage::Half(_) => self.name(selected),
        };
        if let Some(theme) = shown {
            outbox.send(Intent::PreviewTheme(theme));
        }
    }

    fn confirm(&mut self, outbox: &mut Outbox) {
        let selected = self.picker.selected();
        match (self.stage, selected) {
            (Stage::One, 0) => {
                self.enter(Stage::Pair);
                self.preview(outbox);
            }
            (Stage::One, _) => {
                if let Some(theme) = self.name(selected - 1) {
                    outbox.finish(Intent::ChangeSetting(SettingChange::Theme(theme)));
                }
            }
            (Stage::Pair, 0) => self.enter(Stage::Half(Half::Light)),
            (Stage::Pair, 1) => self.enter(Stage::Half(Half::Dark)),
            (Stage::Pair, 2) => {
                outbox.finish(Intent::ChangeSetting(SettingChange::Theme(self.pair())));
            }
            (Stage::Pair, _) => {
                self.enter(Stage::One);
                self.preview(outbox);
            }
            (Stage::Half(half), _) => {
                if let Some(name) = self.name(selected) {
                    match half {
                        Half::Light => self.light = name,
                        Half::Dark => self.dark = name,
                    }
                }
                self.back_to_pair(half, outbox);
            }
        }
    }

    fn back_to_pair(&mut self, half: Half, outbox: &mut Outbox) {
        self.enter(Stage::Pair);
        self.picker.select(usize::from(half == Half::Dark));
        self.preview(outbox);
    }

    fn label(&self, index: usize) -> (String, &'static str) {
        let marked = |name: &str, current: &str| {
            let mark = if name == current { "✓ " } else { "  " };
            format!("{mark}{}", one_line(name))
        };
        let theme = |index: usize| self.name(index).unwrap_or_default();
        match (self.stage, index) {
            (Stage::One, 0) => (
                "  follow the terminal".to_owned(),
                "  light or dark, as it is",
            ),
            (Stage::One, _) => (marked(&theme(index - 1), &self.one), ""),
            (Stage::Pair, 0) => (format!("light: {}", one_line(&self.light)), ""),
            (Stage::Pair, 1) => (format!("dark:  {}", one_line(&self.dark)), ""),
            (Stage::Pair, 2) => ("use these two".to_owned(), ""),
            (Stage::Pair, _) => ("one theme for both instead".to_owned(), ""),
            (Stage::Half(half), _) => (marked(&theme(index), self.half(half)), ""),
        }
    }
}

impl ListPane for ThemeDialog {
    fn picker(&mut self) -> &mut Picker {
        &mut self.picker
    }

    fn settle(&mut self, picked: Picked, outbox: &mut Outbox) {
        match (picked, self.stage) {
            (Picked::Moved, Stage::Pair) => {}
            (Picked::Moved, Stage::One | Stage::Half(_)) => self.preview(outbox),
            (Picked::Confirmed, _) => self.confirm(outbox),
            (Picked::Cancelled, Stage::Half(half)) => self.back_to_pair(half, outbox),
            (Picked::Cancelled, Stage::One | Stage::Pair) => outbox.finish(Intent::EndThemePreview),
        }
    }
}

impl Pane for ThemeDialog {
    fn paint(&mut self, sheet: &mut Sheet) {
        let (title, text) = match self.stage {
            Stage::One => ("Theme", "What you select shows at once."),
            Stage::Pair => (
                "Theme for light and for dark terminals",
                "It changes with the terminal, where the terminal tells.",
            ),
            Stage::Half(Half::Light) => ("Theme for light terminals", ""),
            Stage::Half(Half::Dark) => ("Theme for dark terminals", ""),
        };
        sheet.title(title);
        if !text.is_empty() {
            sheet.text(Weight::Help, ColorToken::Muted, text);
        }
        sheet.blank();
        let visible = self.picker.window(sheet.list_rows(MOST_ROWS, 1, 1));
        let cut = visible.len() < self.picker.count();
        for index in visible {
            let (label, note) = self.label(index);
            let note = sheet.paint(ColorToken::Muted, note);
            sheet.choice(index, index == self.picker.selected(), &label, &note);
        }
        if cut {
            sheet.position(self.picker.selected(), self.picker.count(), "");
        }
        sheet.blank();
        sheet.hints(&[
            Hint::movement(),
            Hint::key(action::SELECT_CONFIRM, "choose"),
            Hint::leave("back"),
        ]);
    }

    fn handle(
        &mut self,
        event: &InputEvent,
        context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> InputOutcome {
        self.pick(event, context, outbox)
    }

    fn mouse(
        &mut self,
        event: &MouseEvent,
        hit: Option<Hit>,
        _context: &InputContext<'_>,
        outbox: &mut Outbox,
    ) -> bool {
        self.point(event, hit, outbox)
    }
}

#[cfg(test)]
mod tests;
