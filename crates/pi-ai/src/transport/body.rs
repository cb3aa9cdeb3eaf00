//! Reads answers that are wanted whole: lists of models, tokens, what a server of the user's says.
//!
//! The answers of models are streams, which [`super::run`] reads.

use reqwest::Response;

use super::failure::{Route, broken};
use crate::error::ProviderError;

/// The longest answer that is read. Lists of models are the longest that services send, and far
/// below it; an answer without an end must not fill the memory.
const LONGEST_BODY: usize = 16 * 1024 * 1024;

/// Reads the whole body of an answer.
pub(crate) async fn read_whole(
    mut response: Response,
    route: &Route,
) -> Result<Vec<u8>, ProviderError> {
    let mut body = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| broken(error, route))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > LONGEST_BODY {
            return Err(ProviderError::protocol(format!(
                "The answer of {route} is longer than {} MiB",
                LONGEST_BODY / (1024 * 1024)
            )));
        }
    }
    Ok(body)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::env::Env;
    use crate::error::ErrorClass;
    use crate::transport::HttpClient;

    #[tokio::test]
    async fn an_answer_without_an_end_is_given_up() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = [0; 1024];
            assert_ne!(stream.read(&mut request).await.unwrap(), 0);
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            // Until the reader hangs up.
            while stream.write_all(&[b' '; 16 * 1024]).await.is_ok() {}
        });
        let target = reqwest::Url::parse(&format!("http://{address}/")).unwrap();
        let env = Env::fixed::<&str, &str>([]);
        let (client, route) = HttpClient::new().client_and_route(&target, &env).unwrap();
        let response = client.get(target).send().await.unwrap();
        let error = read_whole(response, &route).await.unwrap_err();
        assert_eq!(error.class, ErrorClass::Protocol);
        assert_eq!(
            error.message,
            format!("The answer of {address} is longer than 16 MiB")
        );
        server.await.unwrap();
    }
}
