//! Handles calls to the terminal.

use pi_ext::HostError;

use super::Caller;
use crate::calls::{AppliedCompletion, OverlayBounds, Pending, ScreenCalls, ThemeChange};
use crate::front_end::{ExtensionFailure, ExtensionMode};
use crate::screen::{
    ChosenCompletion, ComponentId, EditorInfo, ExtensionCompletionRequest, ExtensionCompletions,
    ExtensionScreen, ExtensionShortcut, ScreenChange, ScreenInfo, ThemeData, ThemeInfo,
};

impl Caller<'_> {
    fn screen(&self) -> Option<&dyn ExtensionScreen> {
        self.bridge.ui.screen()
    }

    /// Returns the screen for calls that JavaScript makes only with a terminal.
    fn required_screen(&self) -> Result<&dyn ExtensionScreen, HostError> {
        self.screen()
            .ok_or_else(|| HostError::new("this call needs a terminal"))
    }
}

impl ScreenCalls for Caller<'_> {
    fn change(&self, change: ScreenChange) -> Result<(), HostError> {
        // Components may briefly outlive their session; their changes no longer matter.
        if self.bridge.check_not_stale().is_ok()
            && let Some(screen) = self.screen()
        {
            screen.change(self.extension, change);
        }
        Ok(())
    }

    fn info(&self) -> Result<Option<ScreenInfo>, HostError> {
        Ok(self.screen().map(ExtensionScreen::info))
    }

    fn editor(&self) -> Result<EditorInfo, HostError> {
        Ok(self.required_screen()?.editor_info())
    }

    fn theme(&self, name: Option<String>) -> Result<Option<ThemeData>, HostError> {
        let shown = self
            .screen()
            .and_then(|screen| screen.theme(name.as_deref()));
        if shown.is_some() || name.is_some() {
            return Ok(shown);
        }
        let settings = self.bridge.settings(None, None);
        let agent_dir = self.bridge.agent_dir.path();
        Ok(self.bridge.ui.theme(&settings.settings(), agent_dir))
    }

    fn missing(&self) -> Result<bool, HostError> {
        let is_reported = self.bridge.ui.reports_missing_screen();
        if is_reported {
            self.bridge.report_failure(ExtensionFailure {
                extension: self.extension.map(str::to_owned),
                event: "screen".to_owned(),
                error: "needs a screen: connect a client that sends `screen` in `hello`".to_owned(),
                stack: None,
            });
        }
        Ok(is_reported)
    }

    fn themes(&self) -> Result<Vec<ThemeInfo>, HostError> {
        Ok(self.screen().map_or_else(Vec::new, ExtensionScreen::themes))
    }

    fn set_theme(&self, name: String) -> Result<ThemeChange, HostError> {
        let set = match (self.screen(), self.bridge.ui.mode()) {
            (Some(screen), _) => screen.set_theme(&name),
            (None, ExtensionMode::Rpc) => {
                Err("Theme switching not supported in RPC mode".to_owned())
            }
            (None, _) => Err("UI not available".to_owned()),
        };
        Ok(ThemeChange {
            success: set.is_ok(),
            error: set.err(),
        })
    }

    fn shortcuts(&self) -> Result<Vec<ExtensionShortcut>, HostError> {
        Ok(self.required_screen()?.shortcuts())
    }

    fn overlay_bounds(&self, id: ComponentId) -> Result<Option<OverlayBounds>, HostError> {
        let bounds = self.required_screen()?.overlay_bounds(id);
        Ok(bounds.map(|[row, col, width, height]| OverlayBounds {
            row,
            col,
            width,
            height,
        }))
    }

    fn complete(
        &self,
        request: ExtensionCompletionRequest,
    ) -> Result<Pending<Option<ExtensionCompletions>>, HostError> {
        let completing = self.screen().map(|screen| screen.complete(request));
        Ok(self.bridge.spawn_on_runtime(async move {
            match completing {
                Some(completing) => Ok(completing.await),
                None => Ok(None),
            }
        }))
    }

    fn apply_completion(&self, chosen: ChosenCompletion) -> Result<AppliedCompletion, HostError> {
        let (line, column) = self.required_screen()?.apply_completion(&chosen);
        Ok(AppliedCompletion { line, column })
    }

    fn completes_path(&self, request: ExtensionCompletionRequest) -> Result<bool, HostError> {
        Ok(self.required_screen()?.completes_path(&request))
    }
}
