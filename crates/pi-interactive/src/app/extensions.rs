//! Handles UI requests from extensions.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use pi_runtime::{
    ComponentId, ComponentPlacement, ExtensionFailure, ExtensionNotice, ExtensionUi as _,
    ScreenChange,
};
use pi_tui::{ColorScheme, KeyId, ListenerId, ListenerOutcome, ScreenMode};
use serde_json::Value;

use super::App;
use super::extension_dialogs::WaitingDialog;
use crate::ExitReason;
use crate::extensions::bridge::{ComponentTask, DialogId, DrawOutcome, ExtensionEvent};
use crate::extensions::view::ExtensionView;
use crate::screen::WidgetSide;
use crate::screen::working::{INTERVAL, WorkingOverrides};
use crate::text::untrusted_text::out_of_band;
use crate::transcript::NoticeLevel;

/// Maximum number of stack-trace lines shown.
const STACK_LINES: usize = 6;

/// UI state that belongs to extensions.
#[derive(Default)]
pub(crate) struct ExtensionState {
    /// Dialogs that wait for the prompt area.
    pub(super) waiting: VecDeque<WaitingDialog>,
    /// The open extension dialog.
    pub(super) open: Option<DialogId>,
    /// Active shortcuts: key, extension and key name, in matching order.
    pub(super) shortcuts: Vec<(KeyId, String, String)>,
    /// Characters that trigger extension completion; `None` without a completion provider.
    pub(super) completion: Option<Vec<char>>,
    /// Text of the extension's editor.
    pub(super) editor_text: String,
    /// The component that replaces the built-in header, and whether it wants key releases.
    pub(crate) header: Option<(ComponentId, bool)>,
    listener: Option<ListenerId>,
    branch: Option<String>,
    last_failure: Option<ExtensionFailure>,
    quit_when_idle: bool,
    has_extensions: bool,
}

impl App {
    /// Connects the extensions and the screen.
    pub(super) fn connect_extensions(&mut self) {
        self.bridge.open(self.ui.clone());
        self.component_tasks.spawn(self.bridge.clone().run_tasks());
        self.publish_size();
        self.publish_themes();
        self.publish_editor();
        // Handle what was queued before there was a screen.
        self.on_extensions();
    }

    /// Handles the queued extension events.
    pub(super) fn on_extensions(&mut self) {
        for event in self.bridge.take_events() {
            match event {
                ExtensionEvent::Connected => self.on_connected(),
                ExtensionEvent::Notice(notice) => self.on_notice(notice),
                ExtensionEvent::DialogRequested { id, dialog, answer } => {
                    self.on_extension_dialog(id, dialog, answer);
                }
                ExtensionEvent::Withdrawn(id) => self.on_dialog_withdrawn(id),
                ExtensionEvent::Failed(failure) => self.on_failure(failure),
                ExtensionEvent::Changed(change) => self.on_change(change),
                ExtensionEvent::Drawn { id, width, outcome } => self.on_drawn(id, width, outcome),
                ExtensionEvent::ThemeSelected(name) => self.use_theme(name),
                ExtensionEvent::Typed(event) => {
                    self.write_terminal(|app| app.screen.runner().forward(event));
                }
                ExtensionEvent::TypedInstead(data) => {
                    self.write_terminal(|app| app.screen.runner().forward_bytes(data.as_bytes()));
                }
                ExtensionEvent::ShutDown => self.leave_when_idle(),
            }
        }
        for (id, bounds) in self.screen.overlay_bounds() {
            self.bridge.set_bounds(id, bounds);
        }
    }

    /// Extensions were loaded or unloaded: removes everything the previous ones showed.
    fn on_connected(&mut self) {
        let has_extensions = self.bridge.is_connected();
        if !has_extensions && !self.extensions.has_extensions {
            return;
        }
        let has_editor = self.screen.has_extension_editor();
        let editor_text = has_editor.then(|| self.prompt_text());
        self.screen.unmount_all();
        self.dismiss_extension_dialogs();
        if let Some(listener) = self.extensions.listener.take() {
            self.screen.runner().tui_mut().remove_listener(listener);
        }
        if self.extensions.header.is_some() {
            self.show_builtin_header();
        }
        self.extensions = ExtensionState {
            has_extensions,
            ..ExtensionState::default()
        };
        self.screen.with_working(|working| {
            working.update_overrides(|overrides| *overrides = WorkingOverrides::default());
        });
        if self.ui.context().thinking_label.is_some() {
            self.update_ui(|ctx| ctx.thinking_label = None);
        }
        if let Some(editor_text) = editor_text {
            self.set_prompt(&editor_text);
        }
        self.register_shortcuts();
        self.report_hidden_commands();
        self.refresh_completion();
        self.refresh_footer();
        self.refresh_title();
    }

    fn on_notice(&mut self, notice: ExtensionNotice) {
        match notice {
            ExtensionNotice::Notify {
                message,
                notify_type,
            } => self.notify(
                match notify_type.as_deref() {
                    Some("error") => NoticeLevel::Error,
                    Some("warning") => NoticeLevel::Warning,
                    _ => NoticeLevel::Status,
                },
                message,
            ),
            ExtensionNotice::Status { .. } => {
                self.refresh_footer();
                self.bridge.redraw();
            }
            ExtensionNotice::Widget {
                key,
                lines,
                placement,
            } => self.show_widget(key, lines, WidgetSide::named(placement.as_deref())),
            ExtensionNotice::Title { title } => {
                self.write_terminal(|app| app.screen.runner().set_title(&title));
            }
            ExtensionNotice::EditorText { text } => self.set_prompt(&text),
            ExtensionNotice::EditorPaste { text } => self.insert_at_prompt(&text),
            ExtensionNotice::WorkingMessage { message } => self.screen.with_working(|working| {
                working.update_overrides(|overrides| overrides.message = message);
            }),
            ExtensionNotice::WorkingVisible { visible } => self.screen.with_working(|working| {
                working.update_overrides(|overrides| overrides.hidden = !visible);
            }),
            ExtensionNotice::WorkingIndicator { indicator } => {
                let indicator = indicator.as_ref().map(read_indicator);
                self.screen.with_working(|working| {
                    working.update_overrides(|overrides| overrides.indicator = indicator);
                });
            }
            ExtensionNotice::HiddenThinkingLabel { label } => {
                let label = label.map(|label| crate::blocks::clean_line(&label));
                self.update_ui(|ctx| ctx.thinking_label = label);
            }
            other => tracing::debug!(?other, "unsupported extension notice"),
        }
    }

    fn show_widget(&mut self, key: String, lines: Option<Vec<String>>, side: WidgetSide) {
        for side in [WidgetSide::Above, WidgetSide::Below] {
            self.screen
                .with_widgets(side, |widgets| widgets.remove(&key));
        }
        if let Some(lines) = lines {
            self.screen
                .with_widgets(side, |widgets| widgets.set_lines(key, lines));
        }
    }

    fn on_failure(&mut self, failure: ExtensionFailure) {
        // A timer that fails sixty times a second is reported once.
        if self.extensions.last_failure.as_ref() == Some(&failure) {
            return;
        }
        let source = match &failure.extension {
            Some(extension) => format!("Extension \"{extension}\""),
            None => "An extension".to_owned(),
        };
        let mut text = format!("{source} failed ({}): {}", failure.event, failure.error);
        let stack = failure.stack.as_deref().unwrap_or_default();
        for line in stack.lines().skip(1).take(STACK_LINES) {
            text.push_str("\n  ");
            text.push_str(line.trim());
        }
        self.error(text);
        self.extensions.last_failure = Some(failure);
    }

    fn on_change(&mut self, change: ScreenChange) {
        match change {
            ScreenChange::Mount {
                id,
                placement: place,
                key_release,
            } => self.mount(id, place, key_release),
            ScreenChange::Unmount { id } => self.unmount(id),
            ScreenChange::Focus { id } => self.screen.focus_extension_view(id),
            ScreenChange::OverlayHidden { id, hidden } => {
                self.screen.hide_overlay(id, Some(hidden), None);
            }
            ScreenChange::OverlayVisible { id, visible } => {
                self.screen.hide_overlay(id, None, Some(visible));
            }
            ScreenChange::OverlayReleased {
                id,
                restore_default: usual,
                next_focus: heir,
            } => {
                self.screen.release_overlay(id, usual, heir);
            }
            ScreenChange::RawInput { listening } => self.set_raw_listener(listening),
            ScreenChange::Completion { triggers } => {
                let triggers = triggers.iter().filter_map(|text| text.chars().next());
                self.extensions.completion = Some(triggers.collect());
                self.refresh_completion();
            }
            ScreenChange::EditorSubmitted { text } => {
                self.extensions.editor_text.clear();
                self.submit(&text);
            }
            ScreenChange::EditorChanged { text } => {
                self.extensions.editor_text = text;
                self.on_prompt_changed();
            }
            ScreenChange::EditorAction { action } => self.perform_action_by_name(&action),
            ScreenChange::EditorRestored { text } => {
                self.extensions.editor_text.clear();
                self.set_prompt(&text);
            }
            ScreenChange::Shortcut { extension, key } => self.run_shortcut(extension, key),
            ScreenChange::Expanded { expanded } => self.show_details(expanded),
            ScreenChange::Progress { active } => {
                self.write_terminal(|app| app.screen.runner().set_progress(active));
            }
            ScreenChange::Write { data } => {
                let data = out_of_band(&data);
                self.write_terminal(|app| app.screen.runner().write_out_of_band(&data));
            }
            // Handled by the bridge.
            ScreenChange::Redraw | ScreenChange::RowChanged { .. } => {}
            other => tracing::debug!(?other, "unsupported screen change"),
        }
    }

    fn mount(&mut self, id: ComponentId, place: ComponentPlacement, key_release: bool) {
        let view = ExtensionView::new(id, self.bridge.clone(), key_release);
        match place {
            ComponentPlacement::Widget { key, placement } => {
                for side in [WidgetSide::Above, WidgetSide::Below] {
                    self.screen
                        .with_widgets(side, |widgets| widgets.remove(&key));
                }
                let side = WidgetSide::named(placement.as_deref());
                self.screen
                    .with_widgets(side, |widgets| widgets.set_component(key, view));
            }
            ComponentPlacement::Header => self.show_extension_header(id, key_release),
            ComponentPlacement::Footer => self.screen.mount_footer(view),
            ComponentPlacement::Custom => self.screen.mount_custom(view),
            ComponentPlacement::Editor => {
                self.extensions.editor_text = self.bridge.editor_text();
                self.screen.mount_editor(view);
                self.screen.with_editor(|area| area.editor().set_text(""));
            }
            ComponentPlacement::Bottom => self.screen.mount_bottom(view),
            ComponentPlacement::Overlay(place) => self.screen.mount_overlay(view, &place),
            other => tracing::debug!(?other, "unsupported screen placement"),
        }
    }

    fn unmount(&mut self, id: ComponentId) {
        if self
            .extensions
            .header
            .is_some_and(|(header, _)| header == id)
        {
            self.show_builtin_header();
        }
        self.screen.unmount(id);
    }

    fn on_drawn(&mut self, id: ComponentId, width: usize, outcome: DrawOutcome) {
        match outcome {
            DrawOutcome::Component(Ok(drawn)) => {
                let header = self.extensions.header.map(|(header, _)| header);
                let too_wide = if header == Some(id) {
                    self.with_extension_header(|view| view.accept(width, &drawn))
                } else {
                    self.screen
                        .with_extension_view(id, |view| view.accept(width, &drawn))
                };
                if let Some(count) = too_wide.flatten() {
                    self.warn_too_wide(id, count, width);
                }
            }
            // The last lines stay; the failure has been reported.
            DrawOutcome::Component(Err(_)) => {}
            DrawOutcome::Call(drawn) => self.with_transcript(|transcript, document| {
                transcript.accept_call(document, id, drawn.ok());
            }),
            DrawOutcome::Texts(texts) => self.with_transcript(|transcript, document| {
                transcript.accept_texts(document, id, texts.ok());
            }),
            DrawOutcome::Custom(drawn) => self.with_transcript(|transcript, document| {
                transcript.accept_custom(document, id, drawn.ok().flatten());
            }),
        }
    }

    fn warn_too_wide(&mut self, id: ComponentId, count: usize, width: usize) {
        let source = match self.bridge.owner(id) {
            Some(extension) => format!("Component of {extension}"),
            None => "Extension component".to_owned(),
        };
        let lines = if count == 1 { "line" } else { "lines" };
        let what = format!("rendered {count} {lines} wider than {width} columns; truncated");
        self.notify(NoticeLevel::Warning, format!("{source} {what}"));
    }

    fn set_raw_listener(&mut self, listening: bool) {
        let tui = self.screen.runner().tui_mut();
        if let Some(listener) = self.extensions.listener.take() {
            tui.remove_listener(listener);
        }
        if listening {
            let bridge = self.bridge.clone();
            let listener = tui.add_listener(move |event| {
                bridge.enqueue(ComponentTask::Raw(event.clone()));
                ListenerOutcome::Consumed
            });
            self.extensions.listener = Some(listener);
        }
    }

    fn use_theme(&mut self, name: String) {
        self.themes.set_setting(Some(name.clone()));
        self.apply_theme();
        self.screen.runner().tui_mut().invalidate();
        self.publish_theme_change();
        let saved = self.session.settings().settings().theme.clone();
        if saved.as_deref() != Some(name.as_str()) {
            self.save_setting(|settings| settings.theme = Some(name));
        }
    }

    fn leave_when_idle(&mut self) {
        if self.session.is_idle() {
            self.leave(ExitReason::Quit);
        } else {
            self.extensions.quit_when_idle = true;
        }
    }

    /// Quits if an extension requested it and the session is idle.
    pub(super) fn quit_if_requested(&mut self) {
        if self.extensions.quit_when_idle {
            self.leave(ExitReason::Quit);
        }
    }

    /// Publishes session changes to extensions, whose components may show them.
    pub(super) fn notify_extensions(&mut self, branch: Option<&str>) {
        if !self.bridge.is_connected() {
            return;
        }
        let models = self.session.models();
        let available = models.available();
        let mut providers: Vec<&str> = available.iter().map(|it| it.provider.as_str()).collect();
        providers.sort_unstable();
        providers.dedup();
        let branch = branch.map(str::to_owned);
        self.bridge.set_facts(|facts| {
            facts.branch.clone_from(&branch);
            facts.providers = providers.len();
        });
        if self.extensions.branch != branch {
            self.extensions.branch = branch;
            self.bridge.enqueue(ComponentTask::BranchChanged);
        }
        self.bridge.redraw();
    }

    /// Publishes the screen size to extensions.
    pub(super) fn publish_size(&mut self) {
        let tui = self.screen.peek();
        let (size, is_full) = (tui.size(), tui.mode() == ScreenMode::Full);
        self.bridge.set_facts(|facts| {
            facts.columns = size.columns;
            facts.rows = size.rows;
            facts.fullscreen = is_full;
        });
        self.bridge.enqueue(ComponentTask::Resized);
    }

    /// Publishes the available themes to extensions.
    pub(super) fn publish_themes(&mut self) {
        self.bridge.set_themes(self.themes.clone());
        let scheme = scheme_name(self.themes.scheme());
        self.bridge.set_facts(|facts| facts.scheme = scheme);
    }

    /// Notifies extensions that the theme changed.
    pub(super) fn publish_theme_change(&mut self) {
        self.publish_themes();
        let scheme = scheme_name(self.themes.scheme());
        self.bridge.enqueue(ComponentTask::ThemeChanged { scheme });
    }

    /// Publishes the editor's border color and padding to extensions.
    pub(super) fn publish_editor(&mut self) {
        let settings = self.session.settings().settings();
        let border = if self.is_bash_mode {
            pi_tui::ColorToken::BashMode
        } else {
            super::prompts::border_token(self.session.thinking_level())
        };
        self.bridge.set_editor(|editor| {
            editor.padding = usize::from(settings.editor_padding_x());
            editor.completions = usize::from(settings.autocomplete_max_visible());
            editor.border = border.name();
        });
        self.bridge.redraw();
    }

    /// Removes an unresponsive component: pressing the clear key twice unmounts it.
    pub(super) fn close_stuck_component(&mut self) {
        let is_stuck = self
            .bridge
            .busy_since()
            .is_some_and(|since| since.elapsed() > STUCK_AFTER);
        let Some(id) = self.screen.focused_extension_view().filter(|_| is_stuck) else {
            return;
        };
        if self.clear_key.press(Instant::now()) {
            self.screen.unmount(id);
            self.error("An extension component is not responding; removed it");
        }
    }
}

/// A component that does not respond for this long is considered stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

fn scheme_name(scheme: ColorScheme) -> &'static str {
    match scheme {
        ColorScheme::Light => "light",
        ColorScheme::Dark => "dark",
    }
}

/// Parses the spinner frames and the interval of an extension's indicator.
fn read_indicator(indicator: &Value) -> (Vec<String>, Duration) {
    let frames = indicator.get("frames").and_then(Value::as_array);
    let frames = match frames {
        Some(frames) => frames
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        None => crate::screen::working::FRAMES.map(str::to_owned).to_vec(),
    };
    let interval = indicator.get("intervalMs").and_then(Value::as_u64);
    // At most one change per frame.
    let interval = interval.map_or(INTERVAL, |interval| Duration::from_millis(interval.max(16)));
    (frames, interval)
}
