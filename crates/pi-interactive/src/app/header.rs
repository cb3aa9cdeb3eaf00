//! What stands at the top: the program's own header, or what an extension shows in its place.

use std::any::Any;

use pi_runtime::ComponentId;
use pi_tui::{BlockId, Liveness};

use super::App;
use crate::block::BlockView;
use crate::extension_view::ExtensionView;
use crate::header::HeaderBlock;

/// Where the header is in the transcript.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeaderBlocks {
    builtin: Option<BlockId>,
    extension: Option<BlockId>,
}

impl App {
    /// Takes note of a new header; an extension that has a say in it goes on having it.
    pub(crate) fn show_header(&mut self, builtin: BlockId) {
        self.header = HeaderBlocks {
            builtin: Some(builtin),
            extension: None,
        };
        if let Some((id, key_release)) = self.extensions.header {
            self.show_extension_header(id, key_release);
        }
    }

    /// Shows what an extension has in the place of the name and the keys.
    pub(super) fn show_extension_header(&mut self, id: ComponentId, key_release: bool) {
        self.extensions.header = Some((id, key_release));
        let Some(builtin) = self.header.builtin else {
            return;
        };
        self.remove_extension_header();
        let view = ExtensionView::new(id, self.bridge.clone(), key_release).after_blank();
        let document = self.screen.document();
        let block = document.insert_before(builtin, Box::new(view), Liveness::Settled);
        self.header.extension = Some(block);
        self.with_builtin_header(|header| header.set_title_hidden(true));
    }

    /// Shows the program's own header again.
    pub(super) fn show_builtin_header(&mut self) {
        self.extensions.header = None;
        self.remove_extension_header();
        self.with_builtin_header(|header| header.set_title_hidden(false));
    }

    /// Changes what an extension shows at the top.
    pub(super) fn with_extension_header<R>(
        &mut self,
        change: impl FnOnce(&mut ExtensionView) -> R,
    ) -> Option<R> {
        let block = self.header.extension?;
        let component = self.screen.document().get_mut(block)?;
        let view = (component as &mut dyn Any).downcast_mut::<ExtensionView>()?;
        Some(change(view))
    }

    fn remove_extension_header(&mut self) {
        if let Some(block) = self.header.extension.take() {
            self.screen.document().remove(block);
        }
    }

    fn with_builtin_header(&mut self, change: impl FnOnce(&mut HeaderBlock)) {
        let Some(builtin) = self.header.builtin else {
            return;
        };
        let component = self.screen.document().get_mut(builtin);
        let view = component.and_then(|component| {
            (component as &mut dyn Any).downcast_mut::<BlockView<HeaderBlock>>()
        });
        if let Some(view) = view {
            change(view.block_mut());
        }
    }
}
