//! Which credentials a server uses.

use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_protocol::{McpServerSpec, McpTransport};
use secrecy::SecretString;

use crate::auth::McpAuth;
use crate::error::McpError;
use crate::servers::{McpServersOptions, McpSession};

/// Returns the credentials of a server: the token of a provider, or an OAuth sign-in.
pub(crate) fn auth_of(
    _options: &McpServersOptions,
    spec: &McpServerSpec,
    session: Option<Arc<dyn McpSession>>,
) -> Option<Arc<dyn McpAuth>> {
    let McpTransport::Http(endpoint) = &spec.transport else {
        return None;
    };
    let provider = endpoint.provider.clone()?;
    Some(Arc::new(ProviderAuth { provider, session }))
}

/// The token of a provider, read for every request.
struct ProviderAuth {
    provider: String,
    session: Option<Arc<dyn McpSession>>,
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
