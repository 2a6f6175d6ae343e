"""The page on which people try trained models: name photos, see why, compare, teach.

It is written by hand, on the web server that MLflow brings along (Starlette and uvicorn), in plain HTML and JavaScript,
not with Gradio or Streamlit. So nothing is added to the installation and nothing is asked of any other host (a content
policy in every answer forbids it); the photos of a visitor stay in the browser, of which the server keeps features
alone; an edited description costs one small request; and every answer is a function that tests call without a browser.

It knows nothing of Kedro: the command that opens it says where things are (``library.Place``).
"""
