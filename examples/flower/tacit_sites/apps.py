"""The two apps; each finds its folder in what the owner of its machine has configured."""

from tacit.adapters.flower import client_app, server_app

client = client_app()
server = server_app()
