//! Requests: connects before them, and repeats those that found no session.

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use pi_protocol::{JsonRpcError, McpState};
use serde_json::Value;

use super::{McpConnection, RETRY_DELAYS};
use crate::client::{Client, ListKind, ListPage, RequestOptions};
use crate::error::McpError;

/// Whether a request may be sent again after it may have been processed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repetition {
    /// It only reads.
    Allowed,
    Never,
}

/// Which part of a list to read.
#[derive(Debug, Clone)]
pub(crate) enum PageChoice {
    All,
    /// The page at a cursor, or the first.
    One(Option<String>),
}

impl McpConnection {
    /// Sends a request, and connects before if needed.
    pub(crate) async fn request(
        &self,
        method: &'static str,
        params: Value,
        options: RequestOptions,
        repetition: Repetition,
    ) -> Result<Value, McpError> {
        let send = |client: Client| {
            let (params, options) = (params.clone(), options.clone());
            async move { client.request(method, Some(params), options).await }.boxed()
        };
        self.run(repetition, send).await
    }

    /// Returns a page of a list, or all of it. A server without templates has none.
    pub(crate) async fn list(
        &self,
        list: ListKind,
        page: PageChoice,
        options: RequestOptions,
    ) -> Result<ListPage, McpError> {
        let read = |client: Client| {
            let (page, options) = (page.clone(), options.clone());
            async move {
                let result = match page {
                    PageChoice::All => {
                        let items = client.list_all(list, &options).await;
                        items.map(|items| ListPage {
                            items,
                            next_cursor: None,
                        })
                    }
                    PageChoice::One(cursor) => client.list_page(list, cursor, options).await,
                };
                match result {
                    Err(McpError::Rpc { code, .. })
                        if code == JsonRpcError::METHOD_NOT_FOUND
                            && list == ListKind::ResourceTemplates =>
                    {
                        Ok(ListPage::default())
                    }
                    other => other,
                }
            }
            .boxed()
        };
        self.run(Repetition::Allowed, read).await
    }

    async fn run<Answer>(
        &self,
        repetition: Repetition,
        operation: impl Fn(Client) -> BoxFuture<'static, Result<Answer, McpError>>,
    ) -> Result<Answer, McpError> {
        let _use = self.0.usage.begin();
        let mut is_first = true;
        loop {
            let client = self.client().await?;
            let error = match operation(client.clone()).await {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let may_repeat = std::mem::take(&mut is_first);
            match error {
                McpError::SessionExpired if may_repeat => {
                    // Other calls of this client get the same error and repeat, too, so it is not closed.
                    self.0.detach(&client);
                }
                McpError::Http { .. }
                    if may_repeat && repetition == Repetition::Allowed && error.is_transient() =>
                {
                    tokio::time::sleep(RETRY_DELAYS[0]).await;
                }
                McpError::Unauthorized if self.0.options.auth.is_some() => {
                    self.0.detach(&client);
                    client.close().await;
                    self.0.set_state(McpState::NeedsAuth, None);
                    return Err(self.0.sign_in_needed());
                }
                error => return Err(error),
            }
        }
    }
}
