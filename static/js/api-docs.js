// Shows the API's description; tries nothing out, so that no key is typed into a page.
const place = document.getElementById("api-docs");
SwaggerUIBundle({
  domNode: place,
  url: place.dataset.openapi,
  deepLinking: true,
  supportedSubmitMethods: [],
  validatorUrl: null,
});
