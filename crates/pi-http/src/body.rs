//! Reads complete response bodies: model lists, tokens, replies of a self-hosted server.
//!
//! Model responses are streamed by the crate above.

use pi_protocol::ProviderError;
use reqwest::Response;

use super::network_error::{Route, read_error};

/// Upper bound for a buffered body. The longest legitimate ones are model lists, far below this;
/// an endless response must not exhaust memory.
const MAX_BODY: usize = 16 * 1024 * 1024;

pub async fn read_body(response: Response, route: &Route) -> Result<Vec<u8>, ProviderError> {
    read_body_within(response, route, MAX_BODY).await
}

/// Like [`read_body`], with another upper bound in bytes.
pub async fn read_body_within(
    mut response: Response,
    route: &Route,
    limit: usize,
) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| read_error(error, route))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > limit {
            return Err(ProviderError::protocol(format!(
                "The response from {route} is longer than {} MiB",
                limit / (1024 * 1024)
            )));
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use pi_env::Env;
    use pi_protocol::ErrorClass;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::HttpClient;

    #[tokio::test]
    async fn an_endless_body_is_an_error() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            assert_ne!(stream.read(&mut request).await.unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            // Until the client closes the connection.
            while stream.write_all(&[b' '; 16 * 1024]).await.is_ok() {}
        });
        let target = reqwest::Url::parse(&format!("http://{address}/")).unwrap();
        let env = Env::fixed::<&str, &str>([]);
        let (client, route) = HttpClient::new().client_and_route(&target, &env).unwrap();
        let response = client.get(target).send().await.unwrap();
        let error = read_body(response, &route).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert_eq!(
            error.message,
            format!("The response from {address} is longer than 16 MiB")
        );
        server.await.unwrap();
    }
}
