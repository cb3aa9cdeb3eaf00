//! AWS Bedrock's `ConverseStream`.
