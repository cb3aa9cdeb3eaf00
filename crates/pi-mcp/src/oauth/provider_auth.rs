//! Servers that accept the token of a model provider.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use secrecy::SecretString;

use crate::auth::McpAuth;
use crate::error::McpError;
use crate::servers::McpSession;

/// The token of a provider, read for every request.
pub(crate) struct ProviderAuth {
    pub(crate) provider: String,
    pub(crate) session: Option<Arc<dyn McpSession>>,
}

impl McpAuth for ProviderAuth {
    fn token(&self) -> BoxFuture<'_, Result<Option<SecretString>, McpError>> {
        async {
            match &self.session {
                Some(session) => Ok(session.provider_token(&self.provider).await),
                None => Ok(None),
            }
        }
        .boxed()
    }
}
