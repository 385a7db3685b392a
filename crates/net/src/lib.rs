//! The wire: frames, encryption, the server loop and the client.
