"""The turn shape: each message is an object with a list of parts, and the results of a turn share
the message after its calls. Streams of this shape send pieces of such messages."""
