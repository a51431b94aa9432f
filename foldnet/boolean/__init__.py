"""The smallest worlds: functions on the corners of a cube, and the networks that compute them."""
