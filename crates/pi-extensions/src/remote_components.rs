//! Components that the extensions of another process draw.

use futures_util::future::BoxFuture;
use pi_protocol::ScreenCursor;

use crate::handle::RenderedComponent;
use crate::screen::ComponentId;

/// How another process has drawn a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RemoteDrawing {
    /// The width of the lines there; the screen here may be narrower.
    pub columns: usize,
    /// The cursor, which the lines do not contain.
    pub cursor: Option<ScreenCursor>,
}

/// The components of another process, as they were drawn last.
pub trait RemoteComponents: Send + Sync {
    /// Returns the lines of a component; `None` if it is no longer shown.
    fn drawn(&self, id: ComponentId) -> Option<RenderedComponent>;

    /// Sends typed input to a component.
    fn input(&self, id: ComponentId, data: String) -> BoxFuture<'static, ()>;

    /// Reports that the size of the screen has changed.
    fn resized(&self) -> BoxFuture<'static, ()>;
}
