"""The ops of the control socket, a few to a module; `table` names them."""
