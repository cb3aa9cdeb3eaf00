//! Recognises that a conversation outgrew the model's window, from the words of each provider.
